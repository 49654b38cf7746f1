/* Values of functions of GSL by their definitions, in 113 bits, for harnesses/lib/estimates.py. glibc's functions of
 * _Float128 are accurate to a few units of their last place; where a formula cancels, the script restricts its
 * arguments. */
typedef __float128 quad;

/* clang does not see glibc's declarations. */
quad acosf128(quad), atanhf128(quad), cosf128(quad), erff128(quad), erfcf128(quad), expf128(quad), expm1f128(quad),
    fabsf128(quad), lgammaf128(quad), logf128(quad), log1pf128(quad), powf128(quad, quad), sinf128(quad),
    sinhf128(quad), sqrtf128(quad);

static quad pi(void) { return acosf128(-1); }

quad sinc(double x) { return x == 0 ? 1 : sinf128(pi() * x) / (pi() * x); }
quad lnsinh(double x) { return logf128(sinhf128(x)); }
quad lncosh(double x) { quad s = sinhf128((quad)x / 2); return log1pf128(2 * s * s); }
quad log_erfc(double x) { return x < 0.5 ? log1pf128(-erff128(x)) : logf128(erfcf128(x)); }
quad exprel(double x) { return x == 0 ? 1 : expm1f128(x) / x; }
quad spherical_j0(double x) { return x == 0 ? 1 : sinf128(x) / x; }
quad spherical_j1(double x) { quad q = x; return sinf128(q) / (q * q) - cosf128(q) / q; }
quad spherical_y0(double x) { return -cosf128(x) / x; }
quad spherical_y1(double x) { quad q = x; return -cosf128(q) / (q * q) - sinf128(q) / q; }
quad i0_scaled(double x) { quad q = x; return x == 0 ? 1 : -expm1f128(-2 * fabsf128(q)) / (2 * fabsf128(q)); }
quad k0_scaled(double x) { return pi() / (2 * (quad)x); }
quad k1_scaled(double x) { quad q = x; return pi() / 2 * (1 / q + 1 / (q * q)); }
quad legendre_2(double x) { quad q = x; return (3 * q * q - 1) / 2; }
quad legendre_3(double x) { quad q = x; return q * (5 * q * q - 3) / 2; }
quad legendre_q0(double x) { quad q = x; return x < 1 ? atanhf128(q) : log1pf128(2 / (q - 1)) / 2; }
quad gegenbauer_2(double a, double x) { quad q = x; return (quad)a * (2 * (1 + (quad)a) * q * q - 1); }
quad fermi_dirac_m1(double x) { return 1 / (1 + expf128(-(quad)x)); }
quad fermi_dirac_0(double x) { return x < 0 ? log1pf128(expf128(x)) : x + log1pf128(expf128(-(quad)x)); }
quad log_1plusx_mx(double x) { return log1pf128(x) - x; }
quad power(double x, int n) { return powf128(x, n); }
quad exp_mult(double x, double y) { return y * expf128(x); }
quad hydrogenic_1(double z, double r) { quad a = z; return 2 * a * sqrtf128(a) * expf128(-a * r); }
quad beta(double x, double y) { return expf128(lgammaf128(x) + lgammaf128(y) - lgammaf128((quad)x + y)); }
quad lnbeta(double x, double y) { return lgammaf128(x) + lgammaf128(y) - lgammaf128((quad)x + y); }
quad normal_q(double x) { return erfcf128(x / sqrtf128(2)) / 2; }
quad normal_z(double x) { quad q = x; return expf128(-q * q / 2) / sqrtf128(2 * pi()); }
quad hazard(double x) { return normal_z(x) / normal_q(x); }
