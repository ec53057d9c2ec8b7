import type { DepositWay } from '#control-plane/services/deposits/open-deposit.ts'
import {
  DepositWaySchema,
  listOwnDeposits,
  openDeposit,
  signDeposit,
} from '#control-plane/services/deposits/open-deposit.ts'
import { readTypedData, TypedData } from '#shared/typed-data.ts'
import type { RestRow } from './route.ts'
import { restRow, writtenAs } from './route.ts'

const envelope = 'v1'

/** A way to deposit, with the message to sign as an object of EIP-712, with that standard's names. */
const WAY = writtenAs(
  DepositWaySchema.extend({
    typedData: TypedData.nullable().describe('The message that the sender signs for the deposit (EIP-712).'),
  }).meta({
    id: 'DepositInstruction',
    description: 'How to make a deposit: an address to send to, or an authorization to sign.',
  }),
  ({ typedData, ...rest }: DepositWay) => ({
    ...rest,
    typedData: typedData === null ? null : readTypedData(typedData),
  }),
)

/** Deposits of tokens. */
export const DEPOSIT_ROWS: readonly RestRow[] = [
  restRow({
    method: 'POST',
    path: '/v1/payments/deposits',
    tag: 'Account',
    refusals: [403, 409],
    envelope,
    operation: openDeposit,
    body: WAY,
  }),
  restRow({
    method: 'GET',
    path: '/v1/payments/deposits',
    tag: 'Account',
    envelope,
    operation: listOwnDeposits,
    numbers: ['maxItems'],
  }),
  restRow({
    method: 'POST',
    path: '/v1/payments/deposits/:id/signature',
    tag: 'Account',
    refusals: [402, 403, 409],
    envelope,
    operation: signDeposit,
  }),
]
