; passes: combine
define void @floats(ptr noalias %x, ptr noalias %out) {
entry:
  %a = load float, ptr %x, align 4
  %one = fmul float %a, 1.0
  %zero = fadd float %one, 0.0
  %minus = fadd float %zero, -0.0
  %half = fdiv float %minus, 2.0
  %third = fdiv float %half, 3.0
  %n = fneg float %third
  %nn = fneg float %n
  %s = fadd float %nn, %n
  %flip = fmul float %s, -1.0
  %m = call float @llvm.maximum.f32(float %flip, float 0xFFF0000000000000)
  %k = call float @llvm.fma.f32(float 2.0, float 3.0, float 0.5)
  %f = call float @llvm.fma.f32(float %m, float 1.0, float %k)
  store float %f, ptr %out, align 4
  ret void
}
declare float @llvm.maximum.f32(float, float)
declare float @llvm.fma.f32(float, float, float)
; after
; floats: 12 rewrites (dead 2, fadd 3, fdiv 1, fmul 2, fneg 1, fold 1, intrinsic 2)
define void @floats(ptr noalias %x, ptr noalias %out) {
entry:
  %a = load float, ptr %x, align 4
  %zero = fadd float %a, 0x0000000000000000
  %half = fmul float %zero, 0x3FE0000000000000
  %third = fdiv float %half, 0x4008000000000000
  %s = fsub float %third, %third
  %f = fsub float 0x401A000000000000, %s
  store float %f, ptr %out, align 4
  ret void
}
