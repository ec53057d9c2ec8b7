-- What jobs have taken of a key's cap.
create index job_by_key on job (key_id, rid) where key_id is not null;
