import { invoke } from '#control-plane/operation/invoke.ts'
import type { AllowanceView, DrawView, PermitView } from '#control-plane/services/allowances/allowance-views.ts'
import {
  AllowanceViewSchema,
  DrawViewSchema,
  PermitViewSchema,
} from '#control-plane/services/allowances/allowance-views.ts'
import { closeAllowance, openAllowance, readAllowance } from '#control-plane/services/allowances/own-allowance.ts'
import { signAllowance } from '#control-plane/services/allowances/sign-allowance.ts'
import { builder } from './builder.ts'
import { given } from './given.ts'
import { membersOf } from './members.ts'
import { withKey } from './offers.ts'

const Status = builder.enumType('AllowanceStatus', { values: AllowanceViewSchema.shape.status.options })
const DrawStatus = builder.enumType('AllowanceDrawStatus', { values: DrawViewSchema.shape.status.options })
const PermitStatus = builder.enumType('AllowancePermitStatus', { values: PermitViewSchema.shape.status.options })

const DrawType = builder.objectRef<DrawView>('AllowanceDraw').implement({
  description: 'USDC that is taken from the wallet of an account for what it spent. Micro-USD as plain digits.',
  authScopes: { buyer: true },
  fields: (t) => ({
    ...membersOf(t, DrawViewSchema, { ids: ['id'], without: ['status'] }),
    status: t.expose('status', { type: DrawStatus }),
  }),
})

const PermitType = builder.objectRef<PermitView>('AllowancePermit').implement({
  description: 'A permit that a wallet signed, so that this market may take tokens from it.',
  authScopes: { buyer: true },
  fields: (t) => ({
    ...membersOf(t, PermitViewSchema, { ids: ['id'], without: ['status'] }),
    status: t.expose('status', { type: PermitStatus }),
  }),
})

/** The draws that an answer has, for its cost. */
const COST = { field: 1, multiplier: 10 }

const AllowanceType = builder.objectRef<AllowanceView>('Allowance').implement({
  description: 'How an account pays from its wallet. Amounts are micro-USD as plain digits.',
  authScopes: { buyer: true },
  fields: (t) => ({
    ...membersOf(t, AllowanceViewSchema, {
      ints: ['chainId', 'batchSeconds'],
      without: ['status', 'permit', 'draws'],
    }),
    status: t.expose('status', { type: Status }),
    permit: t.field({ type: PermitType, nullable: true, resolve: ({ permit }) => permit }),
    draws: t.field({ type: [DrawType], complexity: COST, resolve: ({ draws }) => draws }),
  }),
})

builder.queryFields((t) => ({
  allowance: t.field({
    type: AllowanceType,
    resolve: (_root, _args, { ctx, actor, options }) => invoke(ctx, actor, readAllowance, {}, options),
  }),
}))

builder.mutationFields((t) => ({
  openAllowance: t.field({
    type: AllowanceType,
    args: { amountUsd: t.arg.string(), idempotencyKey: t.arg.string() },
    resolve: (_root, { idempotencyKey, ...args }, { ctx, actor, options }) =>
      invoke(ctx, actor, openAllowance, given(args), withKey(options, idempotencyKey)),
  }),
  signAllowance: t.field({
    type: AllowanceType,
    args: {
      value: t.arg.string({ required: true }),
      deadline: t.arg.float({ required: true }),
      signature: t.arg.string({ required: true }),
    },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, signAllowance, args, options),
  }),
  closeAllowance: t.field({
    type: AllowanceType,
    resolve: (_root, _args, { ctx, actor, options }) => invoke(ctx, actor, closeAllowance, {}, options),
  }),
}))
