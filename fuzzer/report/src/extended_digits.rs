//! The shortest decimal that a correctly rounding compiler reads back as the same number of 64 significant bits.
//!
//! This is the free-format algorithm of Steele and White (*How to Print Floating-Point Numbers Accurately*, PLDI 1990)
//! with integers of any length. The number is `numerator / denominator`. All numbers closer to it than `half`, half of
//! the distance to its neighbour, are read back as the number. Digits are produced until the rest is below `half`.

use core::cmp::Ordering;

/// A natural number in base 2^32, least significant digit first, without leading zeros.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Natural(Vec<u32>);

impl Natural {
    fn new(n: u64) -> Self {
        let mut all = Self(vec![n as u32, (n >> 32) as u32]);
        all.trim();
        all
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    fn shifted(mut self, bits: usize) -> Self {
        self.multiply(1 << (bits % 32));
        let zeros = if self.0.is_empty() { 0 } else { bits / 32 };
        self.0.splice(0..0, core::iter::repeat_n(0, zeros));
        self
    }

    fn multiply(&mut self, by: u32) {
        let mut carry = 0;
        for digit in &mut self.0 {
            let product = u64::from(*digit) * u64::from(by) + carry;
            *digit = product as u32;
            carry = product >> 32;
        }
        if carry > 0 {
            self.0.push(carry as u32);
        }
    }

    fn plus(&self, other: &Self) -> Self {
        let (long, short) = if self.0.len() < other.0.len() { (other, self) } else { (self, other) };
        let mut carry = 0;
        let mut sum = Vec::with_capacity(long.0.len() + 1);
        for (i, digit) in long.0.iter().enumerate() {
            let total = u64::from(*digit) + u64::from(short.0.get(i).copied().unwrap_or(0)) + carry;
            sum.push(total as u32);
            carry = total >> 32;
        }
        sum.extend((carry > 0).then_some(carry as u32));
        Self(sum)
    }

    /// Subtracts a number that is not larger.
    fn subtract(&mut self, other: &Self) {
        let mut borrow = 0;
        for (i, digit) in self.0.iter_mut().enumerate() {
            let right = i64::from(other.0.get(i).copied().unwrap_or(0)) + borrow;
            let difference = i64::from(*digit) - right;
            borrow = i64::from(difference < 0);
            *digit = (difference + (borrow << 32)) as u32;
        }
        self.trim();
    }

    fn compare(&self, other: &Self) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}

/// The shortest decimal of `significand * 2^exponent`, with an exponent of ten: `1.5e0`. The significand is not 0. If
/// `lower` is true, the next smaller number is half as far away as the next larger one; then the smaller distance
/// holds for both sides.
pub(super) fn shortest(significand: u64, exponent: i32, lower: bool) -> String {
    let (up, down) = (usize::try_from(exponent).unwrap_or(0), usize::try_from(-exponent).unwrap_or(0));
    // Everything is multiplied by 4, so that a quarter of the distance of neighbours is a natural number.
    let mut numerator = Natural::new(significand).shifted(up + 2);
    let mut denominator = Natural::new(1).shifted(down + 2);
    let mut half = Natural::new(if lower { 1 } else { 2 }).shifted(up);
    let mut ten = 0;
    // The number and those that are read back as it are scaled below 1, so that no digit is rounded up to 10. Large
    // steps come first.
    for step in [9, 1] {
        let factor = 10_u32.pow(step);
        let is_above = |numerator: &Natural, half: &Natural, denominator: &Natural| {
            numerator.plus(half).compare(denominator) == Ordering::Greater
        };
        while is_above(&numerator, &half, &denominator) {
            denominator.multiply(factor);
            ten += step.cast_signed();
        }
        loop {
            let (mut larger, mut wider) = (numerator.clone(), half.clone());
            larger.multiply(factor);
            wider.multiply(factor);
            if is_above(&larger, &wider, &denominator) {
                break;
            }
            (numerator, half) = (larger, wider);
            ten -= step.cast_signed();
        }
    }
    let digits = digits(numerator, &denominator, half);
    let (first, rest) = digits.split_first().unwrap_or((&0, &[]));
    let rest: String = rest.iter().map(u8::to_string).collect();
    format!("{first}.{}e{}", if rest.is_empty() { "0" } else { &rest }, ten - 1)
}

/// The digits of a number below 1, until the rest is below `half`; the last one is rounded.
fn digits(mut rest: Natural, denominator: &Natural, mut half: Natural) -> Vec<u8> {
    let mut digits = Vec::new();
    loop {
        rest.multiply(10);
        half.multiply(10);
        let mut digit = 0;
        while rest.compare(denominator) != Ordering::Less {
            rest.subtract(denominator);
            digit += 1;
        }
        let is_low = rest.compare(&half) == Ordering::Less;
        let is_high = rest.plus(&half).compare(denominator) == Ordering::Greater;
        if !is_low && !is_high {
            digits.push(digit);
            continue;
        }
        let rounds_up = match (is_low, is_high) {
            (true, true) => rest.plus(&rest).compare(denominator) == Ordering::Greater,
            (low, _) => !low,
        };
        digits.push(digit + u8::from(rounds_up));
        return digits;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_have_their_shortest_decimals_or_longer_ones() {
        // A double as a number of 64 bits needs at least the digits of the double.
        for (x, expected) in [(0.5, "5.0e-1"), (1.0, "1.0e0"), (1e22, "1.0e22"), (3.0, "3.0e0"), (12.25, "1.225e1")] {
            let bits = f64::to_bits(x);
            let significand = (bits & ((1 << 52) - 1) | 1 << 52) << 11;
            let text = shortest(significand, (bits >> 52) as i32 - 1023 - 63, false);
            assert_eq!(text, expected);
            assert_eq!(text.parse::<f64>().unwrap().to_bits(), bits);
        }
    }

    #[test]
    fn neighbours_differ() {
        let one = 1 << 63;
        assert_eq!(shortest(one + 1, -63, false), "1.0000000000000000001e0");
        assert_eq!(shortest(one, -63, true), "1.0e0");
        assert_eq!(shortest(u64::MAX, -64, false), "9.9999999999999999995e-1");
        assert_eq!(shortest(1, -16445, false), "4.0e-4951");
        assert_eq!(shortest(u64::MAX, 16383 - 63, false), "1.189731495357231765e4932");
    }
}
