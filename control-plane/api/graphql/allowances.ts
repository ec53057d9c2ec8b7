import {
  AllowanceViewSchema,
  DrawViewSchema,
  PermitViewSchema,
} from '#control-plane/services/allowances/allowance-views.ts'
import { closeAllowance, openAllowance, readAllowance } from '#control-plane/services/allowances/own-allowance.ts'
import { signAllowance } from '#control-plane/services/allowances/sign-allowance.ts'
import { builder } from './builder.ts'
import { objectOf } from './objects.ts'
import { fieldOf } from './operation-fields.ts'

const Draw = objectOf('AllowanceDraw', DrawViewSchema, {
  description:
    'A draw of USDC from the wallet of an account, for advanced credit that it spent. Micro-USD as plain digits.',
  authScopes: { buyer: true },
  types: { status: 'AllowanceDrawStatus' },
})

const Permit = objectOf('AllowancePermit', PermitViewSchema, {
  description: 'A permit that a wallet signed, so that this market may take tokens from it.',
  authScopes: { buyer: true },
  types: { status: 'AllowancePermitStatus' },
})

const Allowance = objectOf('Allowance', AllowanceViewSchema, {
  description: 'How an account pays from its wallet. Amounts are micro-USD as plain digits.',
  authScopes: { buyer: true },
  ints: ['chainId', 'batchSeconds'],
  types: { status: 'AllowanceStatus', permit: Permit, draws: Draw },
  costs: { draws: { field: 1, multiplier: 10 } },
})

builder.queryFields((t) => ({
  allowance: t.field({ type: Allowance, ...fieldOf(readAllowance) }),
}))

builder.mutationFields((t) => ({
  openAllowance: t.field({ type: Allowance, ...fieldOf(openAllowance, { texts: ['amountUsd'] }) }),
  signAllowance: t.field({ type: Allowance, ...fieldOf(signAllowance) }),
  closeAllowance: t.field({ type: Allowance, ...fieldOf(closeAllowance) }),
}))
