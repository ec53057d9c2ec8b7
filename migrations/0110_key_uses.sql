-- Until when the uses of keys have been noted: calls that are posted while nobody looks are found by the next look.

create table key_use_mark (
  id boolean primary key default true check (id),
  noted_until timestamptz not null
);
insert into key_use_mark (noted_until) values (now());
