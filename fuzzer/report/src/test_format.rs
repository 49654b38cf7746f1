//! The names of the formats of the emitted tests (`--test-format`); `penfuzz-testgen` writes them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The format of a report's tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TestFormat {
    /// A C program that needs no framework.
    #[default]
    Plain,
    /// `GoogleTest`.
    GoogleTest,
    /// Catch2.
    Catch2,
    /// Unity.
    Unity,
    /// cmocka.
    Cmocka,
    /// Check.
    Check,
}

/// How the tests of plain numbers are written (`--test-style`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestStyle {
    /// One function for each test.
    #[default]
    Functions,
    /// One table with a row for each test whose arguments and result are numbers.
    Table,
}

impl TestStyle {
    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "functions" => Some(Self::Functions),
            "table" => Some(Self::Table),
            _ => None,
        }
    }

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Functions => "functions",
            Self::Table => "table",
        }
    }

    /// Is it the default?
    #[must_use]
    pub fn is_functions(&self) -> bool {
        *self == Self::Functions
    }
}

impl TestFormat {
    /// Every format; the first is the default.
    pub const ALL: [Self; 6] = [Self::Plain, Self::GoogleTest, Self::Catch2, Self::Unity, Self::Cmocka, Self::Check];

    /// Its name on the command line and in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::GoogleTest => "googletest",
            Self::Catch2 => "catch2",
            Self::Unity => "unity",
            Self::Cmocka => "cmocka",
            Self::Check => "check",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Is it the default?
    #[must_use]
    pub fn is_plain(&self) -> bool {
        *self == Self::Plain
    }
}

impl Serialize for TestFormat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// An unknown name, in a report of another version, becomes the default. ([`known`] checks suite files.)
impl<'de> Deserialize<'de> for TestFormat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Ok(Self::named(&name).unwrap_or_default())
    }
}

/// The format that a suite file names.
///
/// # Errors
/// If no format has this name; the message lists the names.
pub fn known<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TestFormat>, D::Error> {
    let name = String::deserialize(deserializer)?;
    let all = TestFormat::ALL.map(TestFormat::name).join(", ");
    let unknown = || serde::de::Error::custom(format!("there is no test format {name:?}, only {all}"));
    TestFormat::named(&name).map(Some).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_found_by_its_name() {
        for format in TestFormat::ALL {
            assert_eq!(TestFormat::named(format.name()), Some(format));
            let json = serde_json::to_string(&format).unwrap();
            assert_eq!(serde_json::from_str::<TestFormat>(&json).unwrap(), format);
        }
        assert!(TestFormat::named("junit").is_none());
        assert!(serde_json::from_str::<TestFormat>("\"junit\"").unwrap().is_plain());
        let strict = known(serde_json::Value::from("junit")).unwrap_err().to_string();
        assert!(strict.contains("junit") && strict.contains("googletest"), "{strict}");
        assert!(TestFormat::default().is_plain());
    }
}
