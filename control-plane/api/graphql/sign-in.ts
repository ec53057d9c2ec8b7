import { invoke } from '#control-plane/operation/invoke.ts'
import type { SessionOwner } from '#control-plane/services/sign-in/sign-in.ts'
import {
  readChallenge,
  readSession,
  signInForBuyerKey,
  signInForSellerKey,
} from '#control-plane/services/sign-in/sign-in.ts'
import type { SignInMessage } from '#control-plane/services/sign-in/siwe.ts'
import { builder } from './builder.ts'
import { CreatedApiKey } from './keys.ts'

const SignInChallenge = builder.objectRef<SignInMessage>('SignInChallenge').implement({
  description: 'A message (EIP-4361) to sign until `expiresAt`, in Unix milliseconds.',
  fields: (t) => ({
    message: t.exposeString('message'),
    nonce: t.exposeString('nonce'),
    expiresAt: t.exposeFloat('expiresAt'),
  }),
})

const BrowserSession = builder.objectRef<SessionOwner>('BrowserSession').implement({
  description: 'Who is signed in with this browser.',
  fields: (t) => ({
    id: t.exposeID('id'),
    user: t.exposeID('user'),
    wallet: t.exposeString('wallet'),
  }),
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
