/** The subjects of settings, in the order in which operators read them. */
export const SETTING_SUBJECTS = [
  'fees',
  'payouts',
  'treasury',
  'wallets',
  'advances',
  'sites',
  'load',
  'media',
  'upkeep',
  'storage',
  'secrets',
  'mail',
  'process',
  'traces',
  'development',
] as const
type SettingSubject = (typeof SETTING_SUBJECTS)[number]

/** The units of values that are numbers or switches. */
export const SETTING_UNITS = [
  'micro_usd',
  'bps',
  'seconds',
  'ms',
  'bytes',
  'months',
  'count',
  'share',
  'switch',
] as const
type SettingUnit = (typeof SETTING_UNITS)[number]

/** The subject, the unit and the effect of a setting. */
type SettingNote = {
  readonly subject: SettingSubject
  readonly unit: SettingUnit | null
  readonly meaning: string
}

type Row = readonly [name: string, unit: SettingUnit | null, meaning: string]

/** The notes by subject. `.env.example` explains the settings at length. */
const ROWS: Readonly<Record<SettingSubject, readonly Row[]>> = {
  fees: [['PLATFORM_FEE_BPS', 'bps', 'The share of each charge that the market keeps, from the seller’s side.']],
  payouts: [
    ['PAYOUT_THRESHOLD_MICRO', 'micro_usd', 'The smallest payout. Smaller earnings wait.'],
    ['PAYOUT_APPROVAL_MICRO', 'micro_usd', 'Payouts from this amount on wait for an operator.'],
    ['PAYOUT_EVERY_SECONDS', 'seconds', 'The time between two payouts to all sellers.'],
    ['PAYOUT_HOLD_SECONDS', 'seconds', 'The time for which an earning waits before it is paid out.'],
    ['PAYOUT_COOLING_SECONDS', 'seconds', 'The time for which payouts wait after a seller changed the address.'],
    ['PAYOUT_VALID_SECONDS', 'seconds', 'The time for which the signed authorization of a payout is valid.'],
    ['PAYOUT_BLOCKED_FILE', null, 'A file with addresses that are never paid, one a line.'],
  ],
  treasury: [
    ['TREASURY_ADDRESS', null, 'The wallet that receives deposits and payments.'],
    ['TREASURY_PRIVATE_KEY', null, 'The key that signs payouts. Set one signer only.'],
    ['TREASURY_KEY_FILE', null, 'A file with the key that signs payouts.'],
    ['TREASURY_SIGNER_URL', null, 'The service that signs payouts.'],
    ['TREASURY_COLD_ADDRESS', null, 'The wallet that receives what is above the ceiling.'],
    ['TREASURY_CEILING_MICRO', 'micro_usd', 'The treasury sends anything above this amount to the cold wallet.'],
    ['TREASURY_FLOOR_MICRO', 'micro_usd', 'An alarm is raised while the treasury has less.'],
    [
      'TREASURY_FROM_BLOCK',
      null,
      'The first block whose transfers are read. Without one, reading begins at the next block.',
    ],
  ],
  wallets: [
    ['CHAIN_RPC_URL', null, 'The JSON-RPC endpoint of the chain. Contract wallets cannot sign in without one.'],
    ['CHAIN_ID', null, 'The chain of payments. 8453 is Base.'],
    ['USDC_ADDRESS', null, 'The USDC contract on the chain. Without one, Base’s contract.'],
    ['CHAIN_CONFIRMATIONS', 'count', 'Blocks after which a transfer is final.'],
    ['FACILITATOR_PRIVATE_KEY', null, 'The key that sends settlements to the chain and pays for gas.'],
    ['FACILITATOR_URL', null, 'A hosted facilitator. It is used instead of the key.'],
    ['PAYER_EXPOSURE_MICRO', 'micro_usd', 'The most that is served to one wallet before its payments are final.'],
    ['PAYMENT_EXPOSURE_MICRO', 'micro_usd', 'The most that is served to all wallets before their payments are final.'],
    [
      'CONTRACT_EXPOSURE_MICRO',
      'micro_usd',
      'The most that is served to all contract wallets before their payments are final.',
    ],
  ],
  advances: [
    [
      'ALLOWANCE_LINE_MICRO',
      'micro_usd',
      'The most that is advanced to one account that pays from its wallet. 0 turns advances off.',
    ],
    ['ALLOWANCE_TOTAL_MICRO', 'micro_usd', 'The most that is advanced to all accounts together.'],
    ['ALLOWANCE_BATCH_MICRO', 'micro_usd', 'Spent credit is drawn from the wallet once it reaches this amount.'],
    ['ALLOWANCE_BATCH_SECONDS', 'seconds', 'Spent credit is drawn from the wallet after this time at the latest.'],
    ['ALLOWANCE_READ_SECONDS', 'seconds', 'The time between two reads of a wallet.'],
  ],
  sites: [
    ['BASE_URL', null, 'The public address of this site. Passkeys are bound to its host name.'],
    ['API_BASE_URL', null, 'The public address of the API.'],
    ['HOST', null, 'The address to listen on.'],
    ['PORT', null, 'The port to listen on.'],
    [
      'CONTROL_PLANE_URL',
      null,
      'The control plane to which a data plane passes its paths. Blank where the load balancer routes them.',
    ],
    ['TRUSTED_PROXIES', null, 'Proxies whose X-Forwarded-For counts, so that limits count callers.'],
    ['PAGE_DIR', null, 'The folder of the built page. Without one, the folder beside the program.'],
    ['ALLOW_INTROSPECTION', 'switch', 'Allows introspection of the GraphQL schema in production.'],
    ['SUPPORT_EMAIL', null, 'The address that receives reports of problems. Without one, the page offers no report.'],
  ],
  load: [
    ['MAX_OPEN_CALLS', 'count', 'Calls that may run at once in one process. Further calls get 503.'],
    [
      'MAX_CONNECTIONS_PER_ADDRESS',
      'count',
      'Connections of one address to a data plane. A load balancer counts as one address.',
    ],
    [
      'MAX_EVENT_LOOP_DELAY_MS',
      'ms',
      'New calls get 503 while the event loop is later than this (99th percentile) for two seconds.',
    ],
    ['MAX_HELD_BODY_BYTES', 'bytes', 'Large request bodies in the memory of one process. Further bodies get 503.'],
    ['MAX_HELD_ANSWER_BYTES', 'bytes', 'Large answers in the memory of one process. Further answers wait.'],
    [
      'ADDRESS_WORK_PER_MINUTE',
      'count',
      'Refused work of one address in a minute. Each unit is about 1 ms of a processor.',
    ],
    ['DATABASE_POOL', 'count', 'Connections of one process to PostgreSQL.'],
    ['DRAIN_MS', 'ms', 'The time that running answers get after SIGTERM.'],
    ['DRAIN_PAUSE_MS', 'ms', 'The pause after SIGTERM in which load balancers notice the end.'],
  ],
  media: [
    ['ARTIFACT_DIR', null, 'The folder of media files. Without one, a folder beside the journal.'],
    ['ARTIFACT_KEEP_MS', 'ms', 'The time for which a media file is kept.'],
    ['ARTIFACT_LINK_MS', 'ms', 'The time for which a link opens a media file.'],
    ['ARTIFACT_FILE_BYTES', 'bytes', 'The largest media file that is kept.'],
    ['ARTIFACT_OWNER_BYTES', 'bytes', 'Media files of one buyer together.'],
    ['ARTIFACT_TOTAL_BYTES', 'bytes', 'All media files together.'],
    ['ARTIFACT_S3_BUCKET', null, 'The bucket for media files. Data planes on several machines need one.'],
    ['ARTIFACT_S3_PREFIX', null, 'The beginning of the names in the bucket.'],
    ['ARTIFACT_S3_ENDPOINT', null, 'The server of the bucket. Without one, AWS.'],
    ['ARTIFACT_S3_REGION', null, 'The region of the bucket.'],
    ['ARTIFACT_S3_HOST_STYLE', 'switch', 'Puts the bucket into the host name instead of the path.'],
    ['ARTIFACT_S3_KEY_ID', null, 'The id of the key to the bucket.'],
    ['ARTIFACT_S3_SECRET', null, 'The key to the bucket.'],
  ],
  upkeep: [
    ['CHECK_EVERY_MS', 'ms', 'The time between two checks of the invariants.'],
    ['SWEEP_EVERY_MS', 'ms', 'The time between two sweeps for work of a process that ended.'],
    ['UNPOSTED_AFTER_MS', 'ms', 'The time for which a charged call may wait for its booking while the queue is busy.'],
    [
      'UNPOSTED_WHEN_QUIET_MS',
      'ms',
      'The time for which a charged call may wait for its booking while the queue is empty.',
    ],
    [
      'RETENTION_MONTHS',
      'months',
      'Months of calls and ledger in the main tables. Older months are detached; 0 detaches none.',
    ],
  ],
  storage: [
    ['DATABASE_URL', null, 'PostgreSQL 15 or newer: the ledger and all records.'],
    ['REDIS_URL', null, 'Redis 7 or newer: holds and queues.'],
    ['REDIS_CACHE_URL', null, 'A second Redis for the snapshot, keys and rate limits. Without one, the first.'],
    [
      'MONEY_BUCKETS',
      'count',
      'Buckets that accounts are spread over. The same in every process; a change needs a recovery.',
    ],
    ['JOURNAL_DIR', null, 'The folder of the journal, on a local disk.'],
    [
      'JOURNAL_ACCEPT_DAMAGE',
      'switch',
      'Starts although the journal of an ended process is damaged. Records behind the damage are lost.',
    ],
    ['SNAPSHOT_FILE', null, 'A copy of the snapshot, so that a data plane starts without Redis.'],
  ],
  secrets: [
    ['CREDENTIAL_KEYS', null, 'Keys that encrypt sellers’ provider keys. The first encrypts, all decrypt.'],
    ['KEY_PEPPER', null, 'The pepper of stored API keys. A change makes every key invalid.'],
    ['FINGERPRINT_PEPPER', null, 'The pepper of the fingerprints that find equal provider keys.'],
    ['SESSION_SECRET', null, 'Signs sessions and short-lived links.'],
  ],
  mail: [
    ['SMTP_URL', null, 'The mail server. Without one, the page offers nothing by e-mail.'],
    ['MAIL_FROM', null, 'The sender of e-mails.'],
  ],
  process: [
    ['NODE_ENV', null, 'production refuses development settings and marks cookies as secure.'],
    ['NODE_ID', null, 'The name of this data plane. Without one, the host name.'],
    ['LOG_LEVEL', null, 'error, warn, info, debug or silent.'],
    ['LOG_CALL_SHARE', 'share', 'The share of calls that end well and get a line in the log. Failures always get one.'],
  ],
  traces: [
    [
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      null,
      'The collector of traces (OTLP over HTTP). Without one, there are no traces.',
    ],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', null, 'The collector of traces, with the whole path.'],
    ['OTEL_EXPORTER_OTLP_HEADERS', null, 'Headers for the collector.'],
    ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', null, 'Headers for the collector of traces alone.'],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', 'ms', 'The time that a request to the collector may take. 10 s without a value.'],
    ['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', 'ms', 'The time that a request with traces may take.'],
    ['OTEL_TRACES_SAMPLER', null, 'The traces that are taken. parentbased_always_on without a value.'],
    ['OTEL_TRACES_SAMPLER_ARG', null, 'The share of traces that a ratio sampler takes, 0 to 1.'],
    ['OTEL_SERVICE_NAME', null, 'The name of the process in traces.'],
    ['OTEL_RESOURCE_ATTRIBUTES', null, 'Further facts about the process in traces.'],
    ['OTEL_SDK_DISABLED', 'switch', 'Turns traces off although a collector is named.'],
    ['OTEL_TRACES_EXPORTER', null, 'none turns traces off although a collector is named.'],
  ],
  development: [
    ['ALLOW_LOOPBACK_UPSTREAMS', 'switch', 'Lets sellers’ base URLs point at this machine. Refused in production.'],
    ['SAMPLE_BUYER', null, 'The wallet of the sample buyer, whose account everyone may try. Refused in production.'],
    ['CRASH_AT', null, 'For tests: the place at which the process ends itself. Refused in production.'],
  ],
}

/** The note on each setting, by the name of the variable. */
export const SETTING_NOTES: ReadonlyMap<string, SettingNote> = new Map(
  SETTING_SUBJECTS.flatMap((subject) =>
    ROWS[subject].map(([name, unit, meaning]) => [name, { subject, unit, meaning }] as const),
  ),
)
