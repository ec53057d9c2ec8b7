import type { AllowanceView } from '#control-plane/services/allowances/allowance-views.ts'
import { AllowanceViewSchema } from '#control-plane/services/allowances/allowance-views.ts'
import { closeAllowance, openAllowance, readAllowance } from '#control-plane/services/allowances/own-allowance.ts'
import { signAllowance } from '#control-plane/services/allowances/sign-allowance.ts'
import { readTypedData, TypedData } from '#shared/typed-data.ts'
import type { RestRow } from './route.ts'
import { restRow, writtenAs } from './route.ts'

const envelope = 'v1'
const path = '/v1/buyer/allowance'

/** An allowance with the message to sign as an object of EIP-712, with that standard's names. */
const SHOWN = writtenAs(
  AllowanceViewSchema.extend({
    typedData: TypedData.nullable().describe('The permit that the wallet signs (EIP-712).'),
  }).meta({
    id: 'AllowanceAnswer',
    description:
      'The allowance of a wallet: the amount that the market may draw, its draws, and the message that changes the allowance.',
  }),
  ({ typedData, ...rest }: AllowanceView) => ({
    ...rest,
    typedData: typedData === null ? null : readTypedData(typedData),
  }),
)

/** Accounts that pay from their wallets. */
export const ALLOWANCE_ROWS: readonly RestRow[] = [
  restRow({ method: 'GET', path, tag: 'Account', refusals: [409], envelope, operation: readAllowance, body: SHOWN }),
  restRow({
    method: 'POST',
    path,
    tag: 'Account',
    refusals: [403, 409],
    envelope,
    operation: openAllowance,
    body: SHOWN,
  }),
  restRow({
    method: 'POST',
    path: `${path}/signature`,
    tag: 'Account',
    refusals: [402, 403, 404, 409],
    envelope,
    operation: signAllowance,
    body: SHOWN,
  }),
  restRow({
    method: 'DELETE',
    path,
    tag: 'Account',
    refusals: [403, 404, 409],
    envelope,
    operation: closeAllowance,
    body: SHOWN,
  }),
]
