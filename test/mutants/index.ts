import { ALLOWANCE_MUTANTS } from './allowances.ts'
import { AZURE_MUTANTS } from './azure.ts'
import { BEDROCK_MUTANTS } from './bedrock.ts'
import { BILL_MUTANTS } from './bills.ts'
import { BUDGET_MUTANTS } from './budgets.ts'
import { CALL_MUTANTS } from './calls.ts'
import { EMAIL_MUTANTS } from './emails.ts'
import { GEMINI_MUTANTS } from './gemini.ts'
import { INVITE_LINK_MUTANTS } from './invite-links.ts'
import { JOB_MUTANTS } from './jobs.ts'
import { KEY_MUTANTS } from './keys.ts'
import { METERING_MUTANTS } from './metering.ts'
import type { Mutant } from './mutant.ts'
import { PASSKEY_MUTANTS } from './passkeys.ts'
import { PAYMENT_MUTANTS } from './payments.ts'
import { PLAYGROUND_MUTANTS } from './playground.ts'
import { PROBE_MUTANTS } from './probes.ts'
import { PROCESS_MUTANTS } from './processes.ts'
import { RECOVERY_MUTANTS } from './recovery.ts'
import { REFUSAL_MUTANTS } from './refusals.ts'
import { RESPONSES_MUTANTS } from './responses.ts'
import { RESTORE_MUTANTS } from './restores.ts'
import { SALES_MUTANTS } from './sales.ts'
import { SAVED_VIEW_MUTANTS } from './saved-views.ts'
import { SUPPORT_MUTANTS } from './support.ts'
import { TOKEN_MUTANTS } from './tokens.ts'
import { TREASURY_MUTANTS } from './treasury.ts'

/** Every mistake that is made in the product's code on purpose. */
export const MUTANTS: readonly Mutant[] = [
  ...CALL_MUTANTS,
  ...JOB_MUTANTS,
  ...RECOVERY_MUTANTS,
  ...PAYMENT_MUTANTS,
  ...RESTORE_MUTANTS,
  ...TREASURY_MUTANTS,
  ...ALLOWANCE_MUTANTS,
  ...METERING_MUTANTS,
  ...BILL_MUTANTS,
  ...PROBE_MUTANTS,
  ...GEMINI_MUTANTS,
  ...BEDROCK_MUTANTS,
  ...RESPONSES_MUTANTS,
  ...AZURE_MUTANTS,
  ...TOKEN_MUTANTS,
  ...PROCESS_MUTANTS,
  ...REFUSAL_MUTANTS,
  ...PASSKEY_MUTANTS,
  ...SALES_MUTANTS,
  ...EMAIL_MUTANTS,
  ...SUPPORT_MUTANTS,
  ...KEY_MUTANTS,
  ...BUDGET_MUTANTS,
  ...INVITE_LINK_MUTANTS,
  ...SAVED_VIEW_MUTANTS,
  ...PLAYGROUND_MUTANTS,
]
