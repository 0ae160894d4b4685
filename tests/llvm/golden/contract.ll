; passes: contract
define void @contract(ptr noalias %x, float %a, float %b, float %c) {
entry:
  %m = fmul contract float %a, %b
  %s = fadd contract float %m, %c
  store float %s, ptr %x, align 4
  %m2 = fmul contract float %a, %c
  %d = fsub contract float %b, %m2
  store float %d, ptr %x, align 4
  %m3 = fmul contract float %s, %c
  %d3 = fsub contract float %m3, 1.0
  store float %d3, ptr %x, align 4
  %shared = fmul contract float %b, %c
  store float %shared, ptr %x, align 4
  %s4 = fadd contract float %shared, %a
  store float %s4, ptr %x, align 4
  %strict = fmul float %b, %b
  %s5 = fadd contract float %strict, %a
  store float %s5, ptr %x, align 4
  %l = fmul contract float %a, %s5
  %r = fmul contract float %b, %s5
  %both = fadd contract float %l, %r
  store float %both, ptr %x, align 4
  ret void
}
; after
; contract/%s takes in contract/%m: one fma, rounded once
; contract/%d takes in contract/%m2: one fma, rounded once
; contract/%d3 takes in contract/%m3: one fma, rounded once
; contract/%s4 and contract/%shared stay two operations, because the product is also needed by contract/entry:8
; contract/%s5 and contract/%strict stay two operations, because HLO asks for both roundings here
; contract/%both takes in contract/%r: one fma, rounded once
define void @contract(ptr noalias %x, float %a, float %b, float %c) {
entry:
  %s = call contract float @llvm.fma.f32(float %a, float %b, float %c)
  store float %s, ptr %x, align 4
  %neg = fneg float %a
  %d = call contract float @llvm.fma.f32(float %neg, float %c, float %b)
  store float %d, ptr %x, align 4
  %d3 = call contract float @llvm.fma.f32(float %s, float %c, float 0xBFF0000000000000)
  store float %d3, ptr %x, align 4
  %shared = fmul contract float %b, %c
  store float %shared, ptr %x, align 4
  %s4 = fadd contract float %shared, %a
  store float %s4, ptr %x, align 4
  %strict = fmul float %b, %b
  %s5 = fadd contract float %strict, %a
  store float %s5, ptr %x, align 4
  %l = fmul contract float %a, %s5
  %both = call contract float @llvm.fma.f32(float %b, float %s5, float %l)
  store float %both, ptr %x, align 4
  ret void
}

declare float @llvm.fma.f32(float, float, float)
