import { USAGE_PERIODS } from '#control-plane/cli/choices.ts'
import type { CommandRow, Option } from '#control-plane/cli/command.ts'

const MODEL: Option = { flags: '--model <model>', text: 'the model, by any of its names' }
export const PAGE: readonly Option[] = [
  { flags: '--limit <count>', text: 'items of a page, 1 to 100' },
  { flags: '--next-token <token>', text: 'the page after the one that named this token' },
]
const CALL: readonly Option[] = [
  { flags: '-m, --model <model>', text: 'the model, by any of its names', fallback: 'gpt-5-mini' },
  { flags: '--system <text>', text: 'what the model is told first' },
  { flags: '--max-tokens <count>', text: 'the most tokens of the answer' },
  { flags: '--min-discount <percent>', text: 'only offers with so much off the reference price' },
  { flags: '--max-cost <dollars>', text: 'the most that the call may cost' },
  { flags: '--provider <provider>', text: 'only this provider' },
  { flags: '--allow-untrusted', text: 'providers too that nobody has vetted' },
]
const SIDE: Option = { flags: '--side <side>', text: 'whose key', choices: ['buyer', 'seller'], fallback: 'buyer' }

const SIGNER: readonly Option[] = [
  { flags: '--private-key-env <name>', text: 'the variable with the private key of the wallet' },
  { flags: '--private-key-from <file>', text: 'a file with it, which only you may read' },
  { flags: '--yes', text: 'go on without asking' },
]

/** The commands of buyers. */
export const BUYER_COMMANDS: readonly CommandRow[] = [
  {
    name: 'models',
    summary: 'Models on this market with their reference prices.',
    options: [{ flags: '--search <text>', text: 'only models with this in their name' }],
    examples: ['models --search gpt'],
    load: async () => (await import('#control-plane/cli/actions/models.ts')).listModels,
  },
  {
    name: 'markets',
    summary: 'The market of every model: best prices, sellers, speed.',
    load: async () => (await import('#control-plane/cli/actions/models.ts')).listMarkets,
  },
  {
    name: 'book',
    summary: 'The offers of one model in the order of routing.',
    arguments: [{ name: '<model>', text: 'the model, by any of its names' }],
    examples: ['book gpt-5-mini'],
    load: async () => (await import('#control-plane/cli/actions/models.ts')).showBook,
  },
  {
    name: 'chat',
    summary: 'Say something to a model and read its answer as it comes.',
    arguments: [{ name: '[prompt...]', text: 'what to say; - or nothing reads the standard input' }],
    options: CALL,
    examples: ['chat Say hello.', 'chat -m gpt-5-mini --max-cost 0.01 - < question.txt'],
    load: async () => (await import('#control-plane/cli/actions/chat.ts')).chat,
  },
  {
    name: 'pay',
    summary: 'Say something to a model and pay for that call with a wallet. No account, no key, no ETH.',
    arguments: [{ name: '[prompt...]', text: 'what to say; - or nothing reads the standard input' }],
    options: [
      {
        flags: '--private-key-env <name>',
        text: 'the variable with the private key of the wallet; without either it is asked for',
      },
      { flags: '--private-key-from <file>', text: 'a file with it, which only you may read' },
      {
        flags: '--scheme <scheme>',
        text: 'what is signed: a ceiling or the price',
        choices: ['upto', 'exact'],
        fallback: 'upto',
      },
      { flags: '--rpc-url <url>', text: 'the chain, to sign the permit of upto' },
      { flags: '--max-payment <dollars>', text: 'the most to sign for', fallback: '0.10' },
      { flags: '--yes', text: 'sign without asking' },
      ...CALL,
    ],
    examples: ['pay Say hello. --private-key-from wallet.key --scheme exact --yes'],
    load: async () => (await import('#control-plane/cli/actions/pay.ts')).pay,
  },
  {
    name: 'route explain',
    summary: 'Where a call would go now, what it may cost there, and why not elsewhere.',
    arguments: [{ name: '[prompt...]', text: 'what would be said' }],
    options: CALL,
    examples: ['route explain --model gpt-5-mini --min-discount 20'],
    load: async () => (await import('#control-plane/cli/actions/explain.ts')).explainRoute,
  },
  {
    name: 'balance',
    procedure: 'buyer.me',
    load: async () => (await import('#control-plane/cli/actions/account.ts')).showBalance,
  },
  {
    name: 'deposit',
    summary: 'Where USDC goes to become credit, or a deposit that a wallet signs. It needs no ETH for it.',
    options: [
      { flags: '--usd <dollars>', text: 'sign a deposit of this much' },
      {
        flags: '--private-key-env <name>',
        text: 'the variable with the private key of the wallet; without either it is asked for',
      },
      { flags: '--private-key-from <file>', text: 'a file with it, which only you may read' },
      { flags: '--yes', text: 'sign without asking' },
    ],
    examples: ['deposit', 'deposit --usd 5 --private-key-from wallet.key --yes'],
    load: async () => (await import('#control-plane/cli/actions/deposits.ts')).deposit,
  },
  {
    name: 'deposits',
    procedure: 'deposit.list',
    options: PAGE,
    load: async () => (await import('#control-plane/cli/actions/deposits.ts')).listDeposits,
  },
  {
    name: 'allowance show',
    procedure: 'allowance.read',
    load: async () => (await import('#control-plane/cli/actions/allowance.ts')).showAllowance,
  },
  {
    name: 'allowance open',
    summary: 'Let the account pay from its wallet. With an amount the wallet signs a permit, which needs no ETH.',
    options: [{ flags: '--usd <dollars>', text: 'sign a permit of this much' }, ...SIGNER],
    examples: ['allowance open --usd 20 --private-key-from wallet.key --yes'],
    load: async () => (await import('#control-plane/cli/actions/allowance.ts')).openAllowance,
  },
  {
    name: 'allowance revoke',
    summary: 'End payment from the wallet. A wallet that is named also signs that it allows nothing any more.',
    options: SIGNER,
    examples: ['allowance revoke --private-key-from wallet.key --yes'],
    load: async () => (await import('#control-plane/cli/actions/allowance.ts')).revokeAllowance,
  },
  {
    name: 'key',
    summary: 'Where the buyer key stands: caps, rate, rules.',
    load: async () => (await import('#control-plane/cli/actions/account.ts')).showKey,
  },
  {
    name: 'caps',
    procedure: 'cap.list',
    load: async () => (await import('#control-plane/cli/actions/caps-and-jobs.ts')).listCaps,
  },
  {
    name: 'jobs',
    procedure: 'job.list',
    options: [{ flags: '--running', text: 'only those that run' }, ...PAGE],
    examples: ['jobs --running'],
    load: async () => (await import('#control-plane/cli/actions/caps-and-jobs.ts')).listJobs,
  },
  {
    name: 'cancel-job',
    procedure: 'job.cancel',
    arguments: [{ name: '<id>', text: 'the job, job_…, or the request id of its submit' }],
    load: async () => (await import('#control-plane/cli/actions/caps-and-jobs.ts')).cancelJob,
  },
  {
    name: 'keys list',
    summary: 'Keys of the wallet.',
    options: [SIDE, { flags: '--all', text: 'revoked ones too' }],
    load: async () => (await import('#control-plane/cli/actions/keys.ts')).listKeys,
  },
  {
    name: 'keys create',
    summary: 'Make a further key; it is shown once.',
    options: [
      SIDE,
      { flags: '--label <text>', text: 'a name for people' },
      { flags: '--expires <time>', text: 'when it ends, as 2026-12-31T00:00:00Z' },
      { flags: '--cap-daily <dollars>', text: 'the most it may spend in a UTC day' },
      { flags: '--cap-monthly <dollars>', text: 'the most it may spend in a UTC month' },
      { flags: '--min-discount <percent>', text: 'the least discount it takes' },
      { flags: '--rate <calls>', text: 'calls a minute' },
      { flags: '--models <list>', text: 'only these models, with commas between' },
      { flags: '--idempotency-key <key>', text: 'the same key again answers the same record' },
    ],
    examples: ['keys create --label ci --cap-daily 5'],
    load: async () => (await import('#control-plane/cli/actions/keys.ts')).createKey,
  },
  {
    name: 'keys revoke',
    summary: 'End a key, for good.',
    arguments: [{ name: '<id>', text: 'the key, key_…' }],
    options: [SIDE],
    load: async () => (await import('#control-plane/cli/actions/keys.ts')).revokeKey,
  },
  {
    name: 'usage',
    procedure: 'usage.list',
    options: [{ flags: '--period <span>', text: 'how far back', choices: USAGE_PERIODS }, MODEL, ...PAGE],
    load: async () => (await import('#control-plane/cli/actions/account.ts')).listUsage,
  },
  {
    name: 'request',
    procedure: 'request.get',
    arguments: [{ name: '<id>', text: 'the x-request-id of its answer' }],
    load: async () => (await import('#control-plane/cli/actions/account.ts')).showRequest,
  },
]
