-- A seller whose usage figures cannot be true is flagged for a person; the offer goes on selling.

alter table health_log drop constraint health_log_action_check;
alter table health_log add constraint health_log_action_check
  check (action in ('counted', 'backed_off', 'recovered', 'flagged'));
