# Device math functions: name, result, arguments. Each is `__nv_<name>` in the bitcode; `out` marks a pointer to a result.
# The first part is the table that Numba's cuda.libdevice has; names and types follow NVIDIA's libdevice user's guide.
abs                  int32    int32 x
acos                 float64  float64 x
acosf                float32  float32 x
acosh                float64  float64 x
acoshf               float32  float32 x
asin                 float64  float64 x
asinf                float32  float32 x
asinh                float64  float64 x
asinhf               float32  float32 x
atan                 float64  float64 x
atan2                float64  float64 x, float64 y
atan2f               float32  float32 x, float32 y
atanf                float32  float32 x
atanh                float64  float64 x
atanhf               float32  float32 x
brev                 int32    int32 x
brevll               int64    int64 x
byte_perm            int32    int32 x, int32 y, int32 z
cbrt                 float64  float64 x
cbrtf                float32  float32 x
ceil                 float64  float64 x
ceilf                float32  float32 x
clz                  int32    int32 x
clzll                int32    int64 x
copysign             float64  float64 x, float64 y
copysignf            float32  float32 x, float32 y
cos                  float64  float64 x
cosf                 float32  float32 x
cosh                 float64  float64 x
coshf                float32  float32 x
cospi                float64  float64 x
cospif               float32  float32 x
dadd_rd              float64  float64 x, float64 y
dadd_rn              float64  float64 x, float64 y
dadd_ru              float64  float64 x, float64 y
dadd_rz              float64  float64 x, float64 y
ddiv_rd              float64  float64 x, float64 y
ddiv_rn              float64  float64 x, float64 y
ddiv_ru              float64  float64 x, float64 y
ddiv_rz              float64  float64 x, float64 y
dmul_rd              float64  float64 x, float64 y
dmul_rn              float64  float64 x, float64 y
dmul_ru              float64  float64 x, float64 y
dmul_rz              float64  float64 x, float64 y
double2float_rd      float32  float64 d
double2float_rn      float32  float64 d
double2float_ru      float32  float64 d
double2float_rz      float32  float64 d
double2hiint         int32    float64 d
double2int_rd        int32    float64 d
double2int_rn        int32    float64 d
double2int_ru        int32    float64 d
double2int_rz        int32    float64 d
double2ll_rd         int64    float64 f
double2ll_rn         int64    float64 f
double2ll_ru         int64    float64 f
double2ll_rz         int64    float64 f
double2loint         int32    float64 d
double2uint_rd       int32    float64 d
double2uint_rn       int32    float64 d
double2uint_ru       int32    float64 d
double2uint_rz       int32    float64 d
double2ull_rd        int64    float64 f
double2ull_rn        int64    float64 f
double2ull_ru        int64    float64 f
double2ull_rz        int64    float64 f
double_as_longlong   int64    float64 x
drcp_rd              float64  float64 x
drcp_rn              float64  float64 x
drcp_ru              float64  float64 x
drcp_rz              float64  float64 x
dsqrt_rd             float64  float64 x
dsqrt_rn             float64  float64 x
dsqrt_ru             float64  float64 x
dsqrt_rz             float64  float64 x
erf                  float64  float64 x
erfc                 float64  float64 x
erfcf                float32  float32 x
erfcinv              float64  float64 x
erfcinvf             float32  float32 x
erfcx                float64  float64 x
erfcxf               float32  float32 x
erff                 float32  float32 x
erfinv               float64  float64 x
erfinvf              float32  float32 x
exp                  float64  float64 x
exp10                float64  float64 x
exp10f               float32  float32 x
exp2                 float64  float64 x
exp2f                float32  float32 x
expf                 float32  float32 x
expm1                float64  float64 x
expm1f               float32  float32 x
fabs                 float64  float64 f
fabsf                float32  float32 f
fadd_rd              float32  float32 x, float32 y
fadd_rn              float32  float32 x, float32 y
fadd_ru              float32  float32 x, float32 y
fadd_rz              float32  float32 x, float32 y
fast_cosf            float32  float32 x
fast_exp10f          float32  float32 x
fast_expf            float32  float32 x
fast_fdividef        float32  float32 x, float32 y
fast_log10f          float32  float32 x
fast_log2f           float32  float32 x
fast_logf            float32  float32 x
fast_powf            float32  float32 x, float32 y
fast_sincosf         void     float32 x, out float32 sptr, out float32 cptr
fast_sinf            float32  float32 x
fast_tanf            float32  float32 x
fdim                 float64  float64 x, float64 y
fdimf                float32  float32 x, float32 y
fdiv_rd              float32  float32 x, float32 y
fdiv_rn              float32  float32 x, float32 y
fdiv_ru              float32  float32 x, float32 y
fdiv_rz              float32  float32 x, float32 y
ffs                  int32    int32 x
ffsll                int32    int64 x
finitef              int32    float32 x
float2half_rn        int16    float32 f
float2int_rd         int32    float32 x
float2int_rn         int32    float32 x
float2int_ru         int32    float32 x
float2int_rz         int32    float32 x
float2ll_rd          int64    float32 f
float2ll_rn          int64    float32 f
float2ll_ru          int64    float32 f
float2ll_rz          int64    float32 f
float2uint_rd        int32    float32 x
float2uint_rn        int32    float32 x
float2uint_ru        int32    float32 x
float2uint_rz        int32    float32 x
float2ull_rd         int64    float32 f
float2ull_rn         int64    float32 f
float2ull_ru         int64    float32 f
float2ull_rz         int64    float32 f
float_as_int         int32    float32 x
floor                float64  float64 f
floorf               float32  float32 f
fma                  float64  float64 x, float64 y, float64 z
fma_rd               float64  float64 x, float64 y, float64 z
fma_rn               float64  float64 x, float64 y, float64 z
fma_ru               float64  float64 x, float64 y, float64 z
fma_rz               float64  float64 x, float64 y, float64 z
fmaf                 float32  float32 x, float32 y, float32 z
fmaf_rd              float32  float32 x, float32 y, float32 z
fmaf_rn              float32  float32 x, float32 y, float32 z
fmaf_ru              float32  float32 x, float32 y, float32 z
fmaf_rz              float32  float32 x, float32 y, float32 z
fmax                 float64  float64 x, float64 y
fmaxf                float32  float32 x, float32 y
fmin                 float64  float64 x, float64 y
fminf                float32  float32 x, float32 y
fmod                 float64  float64 x, float64 y
fmodf                float32  float32 x, float32 y
fmul_rd              float32  float32 x, float32 y
fmul_rn              float32  float32 x, float32 y
fmul_ru              float32  float32 x, float32 y
fmul_rz              float32  float32 x, float32 y
frcp_rd              float32  float32 x
frcp_rn              float32  float32 x
frcp_ru              float32  float32 x
frcp_rz              float32  float32 x
frexp                float64  float64 x, out int32 b
frexpf               float32  float32 x, out int32 b
frsqrt_rn            float32  float32 x
fsqrt_rd             float32  float32 x
fsqrt_rn             float32  float32 x
fsqrt_ru             float32  float32 x
fsqrt_rz             float32  float32 x
fsub_rd              float32  float32 x, float32 y
fsub_rn              float32  float32 x, float32 y
fsub_ru              float32  float32 x, float32 y
fsub_rz              float32  float32 x, float32 y
hadd                 int32    int32 x, int32 y
half2float           float32  int16 h
hiloint2double       float64  int32 x, int32 y
hypot                float64  float64 x, float64 y
hypotf               float32  float32 x, float32 y
ilogb                int32    float64 x
ilogbf               int32    float32 x
int2double_rn        float64  int32 i
int2float_rd         float32  int32 x
int2float_rn         float32  int32 x
int2float_ru         float32  int32 x
int2float_rz         float32  int32 x
int_as_float         float32  int32 x
isfinited            int32    float64 x
isinfd               int32    float64 x
isinff               int32    float32 x
isnand               int32    float64 x
isnanf               int32    float32 x
j0                   float64  float64 x
j0f                  float32  float32 x
j1                   float64  float64 x
j1f                  float32  float32 x
jn                   float64  int32 n, float64 x
jnf                  float32  int32 n, float32 x
ldexp                float64  float64 x, int32 y
ldexpf               float32  float32 x, int32 y
lgamma               float64  float64 x
lgammaf              float32  float32 x
ll2double_rd         float64  int64 l
ll2double_rn         float64  int64 l
ll2double_ru         float64  int64 l
ll2double_rz         float64  int64 l
ll2float_rd          float32  int64 l
ll2float_rn          float32  int64 l
ll2float_ru          float32  int64 l
ll2float_rz          float32  int64 l
llabs                int64    int64 x
llmax                int64    int64 x, int64 y
llmin                int64    int64 x, int64 y
llrint               int64    float64 x
llrintf              int64    float32 x
llround              int64    float64 x
llroundf             int64    float32 x
log                  float64  float64 x
log10                float64  float64 x
log10f               float32  float32 x
log1p                float64  float64 x
log1pf               float32  float32 x
log2                 float64  float64 x
log2f                float32  float32 x
logb                 float64  float64 x
logbf                float32  float32 x
logf                 float32  float32 x
longlong_as_double   float64  int64 x
max                  int32    int32 x, int32 y
min                  int32    int32 x, int32 y
modf                 float64  float64 x, out float64 b
modff                float32  float32 x, out float32 b
mul24                int32    int32 x, int32 y
mul64hi              int64    int64 x, int64 y
mulhi                int32    int32 x, int32 y
nearbyint            float64  float64 x
nearbyintf           float32  float32 x
nextafter            float64  float64 x, float64 y
nextafterf           float32  float32 x, float32 y
normcdf              float64  float64 x
normcdff             float32  float32 x
normcdfinv           float64  float64 x
normcdfinvf          float32  float32 x
popc                 int32    int32 x
popcll               int32    int64 x
pow                  float64  float64 x, float64 y
powf                 float32  float32 x, float32 y
powi                 float64  float64 x, int32 y
powif                float32  float32 x, int32 y
rcbrt                float64  float64 x
rcbrtf               float32  float32 x
remainder            float64  float64 x, float64 y
remainderf           float32  float32 x, float32 y
remquo               float64  float64 x, float64 y, out int32 c
remquof              float32  float32 x, float32 y, out int32 quo
rhadd                int32    int32 x, int32 y
rint                 float64  float64 x
rintf                float32  float32 x
round                float64  float64 x
roundf               float32  float32 x
rsqrt                float64  float64 x
rsqrtf               float32  float32 x
sad                  int32    int32 x, int32 y, int32 z
saturatef            float32  float32 x
scalbn               float64  float64 x, int32 y
scalbnf              float32  float32 x, int32 y
signbitd             int32    float64 x
signbitf             int32    float32 x
sin                  float64  float64 x
sincos               void     float64 x, out float64 sptr, out float64 cptr
sincosf              void     float32 x, out float32 sptr, out float32 cptr
sincospi             void     float64 x, out float64 sptr, out float64 cptr
sincospif            void     float32 x, out float32 sptr, out float32 cptr
sinf                 float32  float32 x
sinh                 float64  float64 x
sinhf                float32  float32 x
sinpi                float64  float64 x
sinpif               float32  float32 x
sqrt                 float64  float64 x
sqrtf                float32  float32 x
tan                  float64  float64 x
tanf                 float32  float32 x
tanh                 float64  float64 x
tanhf                float32  float32 x
tgamma               float64  float64 x
tgammaf              float32  float32 x
trunc                float64  float64 x
truncf               float32  float32 x
uhadd                int32    int32 x, int32 y
uint2double_rn       float64  int32 i
uint2float_rd        float32  int32 x
uint2float_rn        float32  int32 x
uint2float_ru        float32  int32 x
uint2float_rz        float32  int32 x
ull2double_rd        float64  int64 l
ull2double_rn        float64  int64 l
ull2double_ru        float64  int64 l
ull2double_rz        float64  int64 l
ull2float_rd         float32  int64 l
ull2float_rn         float32  int64 l
ull2float_ru         float32  int64 l
ull2float_rz         float32  int64 l
ullmax               int64    int64 x, int64 y
ullmin               int64    int64 x, int64 y
umax                 int32    int32 x, int32 y
umin                 int32    int32 x, int32 y
umul24               int32    int32 x, int32 y
umul64hi             int64    int64 x, int64 y
umulhi               int32    int32 x, int32 y
urhadd               int32    int32 x, int32 y
usad                 int32    int32 x, int32 y, int32 z
y0                   float64  float64 x
y0f                  float32  float32 x
y1                   float64  float64 x
y1f                  float32  float32 x
yn                   float64  int32 n, float64 x
ynf                  float32  int32 n, float32 x

# Functions of the libdevice user's guide that cuda.libdevice lacks in Numba. `in` marks a pointer to an array that is read.
[extra]
cyl_bessel_i0        float64  float64 x
cyl_bessel_i0f       float32  float32 x
cyl_bessel_i1        float64  float64 x
cyl_bessel_i1f       float32  float32 x
dsub_rd              float64  float64 x, float64 y
dsub_rn              float64  float64 x, float64 y
dsub_ru              float64  float64 x, float64 y
dsub_rz              float64  float64 x, float64 y
fast_tanhf           float32  float32 x
float_as_uint        int32    float32 x
fmaf_ieee_rd         float32  float32 x, float32 y, float32 z
fmaf_ieee_rn         float32  float32 x, float32 y, float32 z
fmaf_ieee_ru         float32  float32 x, float32 y, float32 z
fmaf_ieee_rz         float32  float32 x, float32 y, float32 z
nan                  float64  in int8 tag
nanf                 float32  in int8 tag
norm                 float64  int32 n, in float64 x
norm3d               float64  float64 x, float64 y, float64 z
norm3df              float32  float32 x, float32 y, float32 z
norm4d               float64  float64 x, float64 y, float64 z, float64 w
norm4df              float32  float32 x, float32 y, float32 z, float32 w
normf                float32  int32 n, in float32 x
rcp64h               float64  float64 x
rhypot               float64  float64 x, float64 y
rhypotf              float32  float32 x, float32 y
rnorm                float64  int32 n, in float64 x
rnorm3d              float64  float64 x, float64 y, float64 z
rnorm3df             float32  float32 x, float32 y, float32 z
rnorm4d              float64  float64 x, float64 y, float64 z, float64 w
rnorm4df             float32  float32 x, float32 y, float32 z, float32 w
rnormf               float32  int32 n, in float32 x
uint_as_float        float32  int32 x
