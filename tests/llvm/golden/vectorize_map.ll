; passes: vectorize, combine
; options: unroll=2
define void @kernel(ptr noalias readonly %x, ptr noalias %out, ptr noalias %bytes, float %scale, i64 %bound) {
entry:
  br label %header

header:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp ult i64 %i, 100
  br i1 %more, label %body, label %exit

body:
  %p = getelementptr inbounds float, ptr %x, i64 %i
  %v = load float, ptr %p, align 4
  %y = fmul float %v, %scale
  %q = getelementptr inbounds float, ptr %out, i64 %i
  store float %y, ptr %q, align 4
  %next = add nuw nsw i64 %i, 1
  br label %header

exit:
  ret void
}
; after
; loop kernel/header: 8 lanes, unrolled x2, because it costs 81 instead of 500; 4 iterations are left to the scalar loop
define void @kernel(ptr noalias readonly %x, ptr noalias %out, ptr noalias %bytes, float %scale, i64 %bound) {
entry:
  %splat.insert = insertelement <8 x float> poison, float %scale, i64 0
  %splat = shufflevector <8 x float> %splat.insert, <8 x float> poison, <8 x i32> zeroinitializer
  br label %header.vector

header.vector:
  %i.1 = phi i64 [ 0, %entry ], [ %next.1, %header.vector ]
  %p.1 = getelementptr inbounds float, ptr %x, i64 %i.1
  %v.1 = load <8 x float>, ptr %p.1, align 4
  %y.1 = fmul <8 x float> %v.1, %splat
  %q.1 = getelementptr inbounds float, ptr %out, i64 %i.1
  store <8 x float> %y.1, ptr %q.1, align 4
  %p.2 = getelementptr inbounds float, ptr %p.1, i64 8
  %v.2 = load <8 x float>, ptr %p.2, align 4
  %y.2 = fmul <8 x float> %v.2, %splat
  %q.2 = getelementptr inbounds float, ptr %q.1, i64 8
  store <8 x float> %y.2, ptr %q.2, align 4
  %next.1 = add nuw nsw i64 %i.1, 16
  %i.more = icmp ne i64 %next.1, 96
  br i1 %i.more, label %header.vector, label %header.middle

header.middle:
  br label %header

header:
  %i = phi i64 [ 96, %header.middle ], [ %next, %body ]
  %more = icmp ult i64 %i, 100
  br i1 %more, label %body, label %exit

body:
  %p = getelementptr inbounds float, ptr %x, i64 %i
  %v = load float, ptr %p, align 4
  %y = fmul float %v, %scale
  %q = getelementptr inbounds float, ptr %out, i64 %i
  store float %y, ptr %q, align 4
  %next = add nuw nsw i64 %i, 1
  br label %header

exit:
  ret void
}
