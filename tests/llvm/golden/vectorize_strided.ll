; passes: vectorize, combine
; options: unroll=1
define void @kernel(ptr noalias readonly %x, ptr noalias %out, ptr noalias %bytes, float %scale, i64 %bound) {
entry:
  br label %header

header:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp ult i64 %i, 32
  br i1 %more, label %body, label %exit

body:
  %p = getelementptr inbounds float, ptr %x, i64 %i
  %v = load float, ptr %p, align 4
  %i4 = mul i64 %i, 4
  %r = getelementptr inbounds float, ptr %x, i64 %i4
  %w = load float, ptr %r, align 4
  %a = call float @llvm.fma.f32(float %w, float %v, float %scale)
  %b = call float @llvm.fma.f32(float %a, float %v, float %scale)
  %c = call float @llvm.fma.f32(float %b, float %v, float %scale)
  %q = getelementptr inbounds float, ptr %out, i64 %i
  store float %c, ptr %q, align 4
  %next = add nuw nsw i64 %i, 1
  br label %header

exit:
  ret void
}
declare float @llvm.fma.f32(float, float, float)
; after
; loop kernel/header: 8 lanes, because it costs 93 instead of 256; nothing is left over
; kernel: 1 rewrites (mul 1)
define void @kernel(ptr noalias readonly %x, ptr noalias %out, ptr noalias %bytes, float %scale, i64 %bound) {
entry:
  %splat.insert = insertelement <8 x float> poison, float %scale, i64 0
  %splat = shufflevector <8 x float> %splat.insert, <8 x float> poison, <8 x i32> zeroinitializer
  br label %header.vector

header.vector:
  %i.1 = phi i64 [ 0, %entry ], [ %next.1, %header.vector ]
  %p.1 = getelementptr inbounds float, ptr %x, i64 %i.1
  %v.1 = load <8 x float>, ptr %p.1, align 4
  %i4.1 = shl i64 %i.1, 2
  %r.1 = getelementptr inbounds float, ptr %x, i64 %i4.1
  %w.1 = load float, ptr %r.1, align 4
  %w.2 = insertelement <8 x float> poison, float %w.1, i64 0
  %r.2 = getelementptr inbounds float, ptr %r.1, i64 4
  %w.3 = load float, ptr %r.2, align 4
  %w.4 = insertelement <8 x float> %w.2, float %w.3, i64 1
  %r.3 = getelementptr inbounds float, ptr %r.1, i64 8
  %w.5 = load float, ptr %r.3, align 4
  %w.6 = insertelement <8 x float> %w.4, float %w.5, i64 2
  %r.4 = getelementptr inbounds float, ptr %r.1, i64 12
  %w.7 = load float, ptr %r.4, align 4
  %w.8 = insertelement <8 x float> %w.6, float %w.7, i64 3
  %r.5 = getelementptr inbounds float, ptr %r.1, i64 16
  %w.9 = load float, ptr %r.5, align 4
  %w.10 = insertelement <8 x float> %w.8, float %w.9, i64 4
  %r.6 = getelementptr inbounds float, ptr %r.1, i64 20
  %w.11 = load float, ptr %r.6, align 4
  %w.12 = insertelement <8 x float> %w.10, float %w.11, i64 5
  %r.7 = getelementptr inbounds float, ptr %r.1, i64 24
  %w.13 = load float, ptr %r.7, align 4
  %w.14 = insertelement <8 x float> %w.12, float %w.13, i64 6
  %r.8 = getelementptr inbounds float, ptr %r.1, i64 28
  %w.15 = load float, ptr %r.8, align 4
  %w.16 = insertelement <8 x float> %w.14, float %w.15, i64 7
  %a.1 = call <8 x float> @llvm.fma.v8f32(<8 x float> %w.16, <8 x float> %v.1, <8 x float> %splat)
  %b.1 = call <8 x float> @llvm.fma.v8f32(<8 x float> %a.1, <8 x float> %v.1, <8 x float> %splat)
  %c.1 = call <8 x float> @llvm.fma.v8f32(<8 x float> %b.1, <8 x float> %v.1, <8 x float> %splat)
  %q.1 = getelementptr inbounds float, ptr %out, i64 %i.1
  store <8 x float> %c.1, ptr %q.1, align 4
  %next.1 = add nuw nsw i64 %i.1, 8
  %i.more = icmp ne i64 %next.1, 32
  br i1 %i.more, label %header.vector, label %header.middle

header.middle:
  br label %exit

exit:
  ret void
}

declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
