import { invoke } from '#control-plane/operation/invoke.ts'
import type { SessionOwner } from '#control-plane/services/sign-in/sign-in.ts'
import {
  readChallenge,
  readSession,
  SessionOwnerSchema,
  signInForBuyerKey,
  signInForSellerKey,
} from '#control-plane/services/sign-in/sign-in.ts'
import type { SignInMessage } from '#control-plane/services/sign-in/siwe.ts'
import { SignInMessageSchema } from '#control-plane/services/sign-in/siwe.ts'
import { builder } from './builder.ts'
import { CreatedApiKey } from './keys.ts'
import { membersOf } from './members.ts'

const SignInChallenge = builder.objectRef<SignInMessage>('SignInChallenge').implement({
  description: 'A message (EIP-4361) to sign until `expiresAt`, in Unix milliseconds.',
  fields: (t) => membersOf(t, SignInMessageSchema),
})

const BrowserSession = builder.objectRef<SessionOwner>('BrowserSession').implement({
  description: 'Who is signed in with this browser.',
  fields: (t) => membersOf(t, SessionOwnerSchema, { ids: ['user'] }),
})

const SignedMessage = builder.inputType('SignedMessage', {
  fields: (t) => ({
    message: t.string({ required: true }),
    signature: t.string({ required: true }),
    label: t.string(),
    expiresAt: t.float(),
  }),
})

builder.queryFields((t) => ({
  signInChallenge: t.field({
    type: SignInChallenge,
    args: { address: t.arg.string({ required: true }) },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, readChallenge, args, options),
  }),
  session: t.field({
    type: BrowserSession,
    resolve: (_root, _args, { ctx, actor, options }) => invoke(ctx, actor, readSession, {}, options),
  }),
}))

builder.mutationFields((t) => ({
  signInForSellerKey: t.field({
    type: CreatedApiKey,
    args: { input: t.arg({ type: SignedMessage, required: true }) },
    resolve: (_root, { input }, { ctx, actor, options }) =>
      invoke(ctx, actor, signInForSellerKey, { ...input }, options),
  }),
  signInForBuyerKey: t.field({
    type: CreatedApiKey,
    args: { input: t.arg({ type: SignedMessage, required: true }) },
    resolve: (_root, { input }, { ctx, actor, options }) =>
      invoke(ctx, actor, signInForBuyerKey, { ...input }, options),
  }),
}))
