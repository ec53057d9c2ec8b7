-- What took offers out of the rotation and what brought them back, by time; and the running jobs of an account.

create index health_log_by_change on health_log (at)
  where action in ('backed_off', 'recovered', 'reset', 'credential_rotated', 'delisted');
create index job_running_by_account on job (account, rid) where ended_at is null;
