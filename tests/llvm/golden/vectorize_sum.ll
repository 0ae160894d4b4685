; passes: vectorize, combine
; options: unroll=4
define void @kernel(ptr noalias readonly %x, ptr noalias %out, ptr noalias %bytes, float %scale, i64 %bound) {
entry:
  br label %header

header:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %total = phi float [ 0.0, %entry ], [ %sum, %body ]
  %more = icmp ult i64 %i, 64
  br i1 %more, label %body, label %exit

body:
  %p = getelementptr inbounds float, ptr %x, i64 %i
  %v = load float, ptr %p, align 4
  %sum = fadd reassoc float %total, %v
  %next = add nuw nsw i64 %i, 1
  br label %header

exit:
  store float %total, ptr %out, align 4
  ret void
}
; after
; loop kernel/header: 8 lanes, unrolled x4, because it costs 39 instead of 256; 4 accumulators hide the latency of the reduction; nothing is left over
define void @kernel(ptr noalias readonly %x, ptr noalias %out, ptr noalias %bytes, float %scale, i64 %bound) {
entry:
  br label %header.vector

header.vector:
  %total.1 = phi <8 x float> [ zeroinitializer, %entry ], [ %sum.1, %header.vector ]
  %total.2 = phi <8 x float> [ zeroinitializer, %entry ], [ %sum.2, %header.vector ]
  %total.3 = phi <8 x float> [ zeroinitializer, %entry ], [ %sum.3, %header.vector ]
  %total.4 = phi <8 x float> [ zeroinitializer, %entry ], [ %sum.4, %header.vector ]
  %i.1 = phi i64 [ 0, %entry ], [ %next.1, %header.vector ]
  %p.1 = getelementptr inbounds float, ptr %x, i64 %i.1
  %v.1 = load <8 x float>, ptr %p.1, align 4
  %sum.1 = fadd reassoc <8 x float> %total.1, %v.1
  %p.2 = getelementptr inbounds float, ptr %p.1, i64 8
  %v.2 = load <8 x float>, ptr %p.2, align 4
  %sum.2 = fadd reassoc <8 x float> %total.2, %v.2
  %p.3 = getelementptr inbounds float, ptr %p.1, i64 16
  %v.3 = load <8 x float>, ptr %p.3, align 4
  %sum.3 = fadd reassoc <8 x float> %total.3, %v.3
  %p.4 = getelementptr inbounds float, ptr %p.1, i64 24
  %v.4 = load <8 x float>, ptr %p.4, align 4
  %sum.4 = fadd reassoc <8 x float> %total.4, %v.4
  %next.1 = add nuw nsw i64 %i.1, 32
  %i.more = icmp ne i64 %next.1, 64
  br i1 %i.more, label %header.vector, label %header.middle

header.middle:
  %partial = fadd <8 x float> %sum.1, %sum.2
  %partial.1 = fadd <8 x float> %sum.3, %sum.4
  %partial.2 = fadd <8 x float> %partial, %partial.1
  %low = shufflevector <8 x float> %partial.2, <8 x float> %partial.2, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %high = shufflevector <8 x float> %partial.2, <8 x float> %partial.2, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %partial.3 = fadd <4 x float> %low, %high
  %turned = shufflevector <4 x float> %partial.3, <4 x float> %partial.3, <4 x i32> <i32 2, i32 3, i32 0, i32 1>
  %partial.4 = fadd <4 x float> %partial.3, %turned
  %turned.1 = shufflevector <4 x float> %partial.4, <4 x float> %partial.4, <4 x i32> <i32 1, i32 0, i32 3, i32 2>
  %partial.5 = fadd <4 x float> %partial.4, %turned.1
  %total.5 = extractelement <4 x float> %partial.5, i64 0
  br label %exit

exit:
  store float %total.5, ptr %out, align 4
  ret void
}
