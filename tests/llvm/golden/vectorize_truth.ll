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
  %c = fcmp ogt float %v, %scale
  %b = zext i1 %c to i8
  %pb = getelementptr inbounds i8, ptr %bytes, i64 %i
  store i8 %b, ptr %pb, align 1
  %n = trunc i64 %i to i32
  %nf = sitofp i32 %n to float
  %z = select i1 %c, float %v, float %nf
  %q = getelementptr inbounds float, ptr %out, i64 %i
  store float %z, ptr %q, align 4
  %next = add nuw nsw i64 %i, 1
  br label %header

exit:
  ret void
}
; after
; loop kernel/header: 8 lanes, because it costs 39 instead of 288; nothing is left over
; kernel: 6 rewrites (cast 1, dead 2, fold 2, shuffle 1)
define void @kernel(ptr noalias readonly %x, ptr noalias %out, ptr noalias %bytes, float %scale, i64 %bound) {
entry:
  %splat.insert = insertelement <8 x float> poison, float %scale, i64 0
  %splat = shufflevector <8 x float> %splat.insert, <8 x float> poison, <8 x i32> zeroinitializer
  br label %header.vector

header.vector:
  %i.1 = phi i64 [ 0, %entry ], [ %next.1, %header.vector ]
  %n.2 = phi <8 x i32> [ <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %entry ], [ %n.2.next, %header.vector ]
  %p.1 = getelementptr inbounds float, ptr %x, i64 %i.1
  %v.1 = load <8 x float>, ptr %p.1, align 4
  %c.1 = fcmp ogt <8 x float> %v.1, %splat
  %b.2 = zext <8 x i1> %c.1 to <8 x i8>
  %pb.1 = getelementptr inbounds i8, ptr %bytes, i64 %i.1
  store <8 x i8> %b.2, ptr %pb.1, align 1
  %nf.1 = sitofp <8 x i32> %n.2 to <8 x float>
  %z.1 = select <8 x i1> %c.1, <8 x float> %v.1, <8 x float> %nf.1
  %q.1 = getelementptr inbounds float, ptr %out, i64 %i.1
  store <8 x float> %z.1, ptr %q.1, align 4
  %next.1 = add nuw nsw i64 %i.1, 8
  %n.2.next = add <8 x i32> %n.2, splat (i32 8)
  %i.more = icmp ne i64 %next.1, 32
  br i1 %i.more, label %header.vector, label %header.middle

header.middle:
  br label %exit

exit:
  ret void
}
