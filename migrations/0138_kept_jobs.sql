-- Redis is given back the record of every job that somebody may ask about: also of one that runs, and of one whose end
-- nobody was told of before Redis was emptied. `shown` is empty where nobody knows any more how an end is shown.
create index job_kept on job (rid) where shown is not null or told_at is null;
drop index job_shown;
