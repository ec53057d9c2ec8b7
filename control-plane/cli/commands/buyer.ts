import { USAGE_PERIODS } from '#control-plane/cli/choices.ts'
import type { CommandRow, Option } from '#control-plane/cli/command.ts'

const MODEL: Option = { flags: '--model <model>', text: 'model name or alias' }
export const PAGE: readonly Option[] = [
  { flags: '--limit <count>', text: 'items per page, 1 to 100' },
  { flags: '--next-token <token>', text: 'token of the next page' },
]
const CALL: readonly Option[] = [
  { flags: '-m, --model <model>', text: 'model name or alias', fallback: 'gpt-5-mini' },
  { flags: '--system <text>', text: 'system prompt' },
  { flags: '--max-tokens <count>', text: 'maximum tokens of the answer' },
  { flags: '--min-discount <percent>', text: 'minimum discount off the list price' },
  { flags: '--max-cost <dollars>', text: 'maximum cost of the call' },
  { flags: '--provider <provider>', text: 'only this provider' },
  { flags: '--allow-untrusted', text: 'allow providers that are not trusted' },
]
const SIDE: Option = {
  flags: '--side <side>',
  text: 'which kind of key',
  choices: ['buyer', 'seller'],
  fallback: 'buyer',
}

const SIGNER: readonly Option[] = [
  { flags: '--private-key-env <name>', text: "environment variable with the wallet's private key" },
  { flags: '--private-key-from <file>', text: "file with the wallet's private key (mode 0600)" },
  { flags: '--yes', text: 'skip the confirmation' },
]

/** The commands of buyers. */
export const BUYER_COMMANDS: readonly CommandRow[] = [
  {
    name: 'models',
    summary: 'List models with their list prices.',
    options: [{ flags: '--search <text>', text: 'part of a name' }],
    examples: ['models --search gpt'],
    load: async () => (await import('#control-plane/cli/actions/models.ts')).listModels,
  },
  {
    name: 'markets',
    summary: 'Compare models: best price, sellers, speed. Busiest first.',
    load: async () => (await import('#control-plane/cli/actions/models.ts')).listMarkets,
  },
  {
    name: 'book',
    summary: 'List the offers of a model in routing order.',
    arguments: [{ name: '<model>', text: 'model name or alias' }],
    examples: ['book gpt-5-mini'],
    load: async () => (await import('#control-plane/cli/actions/models.ts')).showBook,
  },
  {
    name: 'chat',
    summary: 'Send a prompt to a model and stream the answer.',
    arguments: [{ name: '[prompt...]', text: 'the prompt; - reads it from standard input' }],
    options: CALL,
    examples: ['chat Say hello.', 'chat -m gpt-5-mini --max-cost 0.01 - < question.txt'],
    load: async () => (await import('#control-plane/cli/actions/chat.ts')).chat,
  },
  {
    name: 'pay',
    summary: 'Send a prompt and pay for the call from a wallet. Needs no account, no key and no ETH.',
    arguments: [{ name: '[prompt...]', text: 'the prompt; - reads it from standard input' }],
    options: [
      {
        flags: '--private-key-env <name>',
        text: "environment variable with the wallet's private key; asked for when left out",
      },
      { flags: '--private-key-from <file>', text: "file with the wallet's private key (mode 0600)" },
      {
        flags: '--scheme <scheme>',
        text: 'sign a maximum (upto) or the quoted price (exact)',
        choices: ['upto', 'exact'],
        fallback: 'upto',
      },
      { flags: '--rpc-url <url>', text: 'chain endpoint, for the permit of upto' },
      { flags: '--max-payment <dollars>', text: 'maximum amount to sign', fallback: '0.10' },
      { flags: '--yes', text: 'skip the confirmation' },
      ...CALL,
    ],
    examples: ['pay Say hello. --private-key-from wallet.key --scheme exact --yes'],
    load: async () => (await import('#control-plane/cli/actions/pay.ts')).pay,
  },
  {
    name: 'route explain',
    summary: 'Show where a call would go, what it would cost, and why.',
    arguments: [{ name: '[prompt...]', text: 'the prompt' }],
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
    summary: 'Show the deposit address, or sign a gasless deposit.',
    options: [
      { flags: '--usd <dollars>', text: 'amount to deposit' },
      {
        flags: '--private-key-env <name>',
        text: "environment variable with the wallet's private key; asked for when left out",
      },
      { flags: '--private-key-from <file>', text: "file with the wallet's private key (mode 0600)" },
      { flags: '--yes', text: 'skip the confirmation' },
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
    summary: 'Pay for calls from your wallet. With --usd, sign a gasless permit.',
    options: [{ flags: '--usd <dollars>', text: 'amount to permit' }, ...SIGNER],
    examples: ['allowance open --usd 20 --private-key-from wallet.key --yes'],
    load: async () => (await import('#control-plane/cli/actions/allowance.ts')).openAllowance,
  },
  {
    name: 'allowance revoke',
    summary: 'Stop paying from your wallet. With its private key, also revoke the permit.',
    options: SIGNER,
    examples: ['allowance revoke --private-key-from wallet.key --yes'],
    load: async () => (await import('#control-plane/cli/actions/allowance.ts')).revokeAllowance,
  },
  {
    name: 'key',
    summary: "Show your key's budget, rate limit and rules.",
    load: async () => (await import('#control-plane/cli/actions/account.ts')).showKey,
  },
  {
    name: 'caps',
    procedure: 'cap.list',
    load: async () => (await import('#control-plane/cli/actions/caps-and-jobs.ts')).listCaps,
  },
  {
    name: 'budgets list',
    summary: 'List the budgets of an organisation. Needs its management key in MARKET_OPERATOR_KEY.',
    arguments: [{ name: '<organization>', text: 'organisation id (org_…)' }],
    load: async () => (await import('#control-plane/cli/actions/budgets.ts')).listBudgets,
  },
  {
    name: 'budgets set',
    summary: 'Set the monthly budget of a member or workspace. Needs a management key in MARKET_OPERATOR_KEY.',
    arguments: [
      { name: '<organization>', text: 'organisation id (org_…)' },
      { name: '<of>', text: 'member id (usr_…) or workspace id (wsp_…)' },
    ],
    options: [
      { flags: '--usd <amount>', text: 'US dollars for each UTC month' },
      { flags: '--none', text: 'remove the budget' },
    ],
    examples: ['budgets set org_01 wsp_01 --usd 200'],
    load: async () => (await import('#control-plane/cli/actions/budgets.ts')).setBudget,
  },
  {
    name: 'jobs',
    procedure: 'job.list',
    options: [{ flags: '--running', text: 'running jobs only' }, ...PAGE],
    examples: ['jobs --running'],
    load: async () => (await import('#control-plane/cli/actions/caps-and-jobs.ts')).listJobs,
  },
  {
    name: 'cancel-job',
    procedure: 'job.cancel',
    arguments: [{ name: '<id>', text: 'job id (job_…) or request id' }],
    load: async () => (await import('#control-plane/cli/actions/caps-and-jobs.ts')).cancelJob,
  },
  {
    name: 'keys list',
    summary: 'List API keys.',
    options: [SIDE, { flags: '--all', text: 'include revoked keys' }],
    load: async () => (await import('#control-plane/cli/actions/keys.ts')).listKeys,
  },
  {
    name: 'keys create',
    summary: 'Create an API key. The key is shown once.',
    options: [
      SIDE,
      { flags: '--label <text>', text: 'name of the key' },
      { flags: '--expires <time>', text: 'expiry, e.g. 2026-12-31T00:00:00Z' },
      { flags: '--cap-daily <dollars>', text: 'daily budget (UTC)' },
      { flags: '--cap-monthly <dollars>', text: 'monthly budget (UTC)' },
      { flags: '--min-discount <percent>', text: 'minimum discount' },
      { flags: '--rate <calls>', text: 'calls per minute' },
      { flags: '--models <list>', text: 'allowed models, separated by commas' },
      { flags: '--idempotency-key <key>', text: 'repeat a request safely' },
    ],
    examples: ['keys create --label ci --cap-daily 5'],
    load: async () => (await import('#control-plane/cli/actions/keys.ts')).createKey,
  },
  {
    name: 'keys revoke',
    summary: 'Revoke a key. You cannot undo this.',
    arguments: [{ name: '<id>', text: 'key id (key_…)' }],
    options: [SIDE],
    load: async () => (await import('#control-plane/cli/actions/keys.ts')).revokeKey,
  },
  {
    name: 'keys freeze',
    summary: 'Freeze a buyer key. Calls with the key are refused until you unfreeze it.',
    arguments: [{ name: '<id>', text: 'key id (key_…)' }],
    load: async () => (await import('#control-plane/cli/actions/keys.ts')).freezeKey,
  },
  {
    name: 'keys unfreeze',
    summary: 'Unfreeze a buyer key.',
    arguments: [{ name: '<id>', text: 'key id (key_…)' }],
    load: async () => (await import('#control-plane/cli/actions/keys.ts')).unfreezeKey,
  },
  {
    name: 'usage',
    procedure: 'usage.list',
    options: [{ flags: '--period <span>', text: 'period to show', choices: USAGE_PERIODS }, MODEL, ...PAGE],
    load: async () => (await import('#control-plane/cli/actions/account.ts')).listUsage,
  },
  {
    name: 'request',
    procedure: 'request.get',
    arguments: [{ name: '<id>', text: 'x-request-id of the answer' }],
    load: async () => (await import('#control-plane/cli/actions/account.ts')).showRequest,
  },
]
