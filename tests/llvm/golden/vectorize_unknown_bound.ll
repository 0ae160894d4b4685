; passes: vectorize, combine
; options: unroll=1
define void @kernel(ptr noalias readonly %x, ptr noalias %out, ptr noalias %bytes, float %scale, i64 %bound) {
entry:
  br label %header

header:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %total = phi float [ %scale, %entry ], [ %sum, %body ]
  %more = icmp ult i64 %i, %bound
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
; loop kernel/header: 8 lanes, because it costs 135 instead of 1024
; kernel: 1 rewrites (sub 1)
define void @kernel(ptr noalias readonly %x, ptr noalias %out, ptr noalias %bytes, float %scale, i64 %bound) {
entry:
  %count.vector = and i64 %bound, -8
  %has.vector = icmp sgt i64 %count.vector, 0
  br i1 %has.vector, label %header.enter, label %header.rest

header.enter:
  br label %header.vector

header.vector:
  %total.1 = phi <8 x float> [ splat (float 0x8000000000000000), %header.enter ], [ %sum.1, %header.vector ]
  %i.1 = phi i64 [ 0, %header.enter ], [ %next.1, %header.vector ]
  %p.1 = getelementptr inbounds float, ptr %x, i64 %i.1
  %v.1 = load <8 x float>, ptr %p.1, align 4
  %sum.1 = fadd reassoc <8 x float> %total.1, %v.1
  %next.1 = add nuw nsw i64 %i.1, 8
  %i.more = icmp ne i64 %next.1, %count.vector
  br i1 %i.more, label %header.vector, label %header.middle

header.middle:
  %low = shufflevector <8 x float> %sum.1, <8 x float> %sum.1, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %high = shufflevector <8 x float> %sum.1, <8 x float> %sum.1, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %partial = fadd <4 x float> %low, %high
  %turned = shufflevector <4 x float> %partial, <4 x float> %partial, <4 x i32> <i32 2, i32 3, i32 0, i32 1>
  %partial.1 = fadd <4 x float> %partial, %turned
  %turned.1 = shufflevector <4 x float> %partial.1, <4 x float> %partial.1, <4 x i32> <i32 1, i32 0, i32 3, i32 2>
  %partial.2 = fadd <4 x float> %partial.1, %turned.1
  %total.2 = extractelement <4 x float> %partial.2, i64 0
  %partial.3 = fadd float %scale, %total.2
  br label %header.rest

header.rest:
  %i.rest = phi i64 [ 0, %entry ], [ %count.vector, %header.middle ]
  %total.rest = phi float [ %scale, %entry ], [ %partial.3, %header.middle ]
  br label %header

header:
  %i = phi i64 [ %i.rest, %header.rest ], [ %next, %body ]
  %total = phi float [ %total.rest, %header.rest ], [ %sum, %body ]
  %more = icmp ult i64 %i, %bound
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
