; passes: rotate, simplify-cfg
define void @exchange(ptr noalias %x, ptr noalias %out) {
entry:
  br label %header

header:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %a = phi i32 [ 1, %entry ], [ %b, %body ]
  %b = phi i32 [ 2, %entry ], [ %sum, %body ]
  %more = icmp ult i64 %i, 30
  br i1 %more, label %body, label %exit

body:
  %sum = add i32 %a, %b
  %next = add nuw nsw i64 %i, 1
  br label %header

exit:
  %both = sub i32 %b, %a
  store i32 %both, ptr %out, align 4
  ret void
}
; after
; loop exchange/header tests at its bottom: it runs at least once, and saves a jump each time
define void @exchange(ptr noalias %x, ptr noalias %out) {
entry:
  br label %header

header:
  %i = phi i64 [ 0, %entry ], [ %next, %header ]
  %a = phi i32 [ 1, %entry ], [ %b, %header ]
  %b = phi i32 [ 2, %entry ], [ %sum, %header ]
  %sum = add i32 %a, %b
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, 30
  br i1 %more, label %header, label %exit

exit:
  %both = sub i32 %sum, %b
  store i32 %both, ptr %out, align 4
  ret void
}
