import {
  readChallenge,
  readSession,
  SessionOwnerSchema,
  signInForBuyerKey,
  signInForSellerKey,
} from '#control-plane/services/sign-in/sign-in.ts'
import { SignInMessageSchema } from '#control-plane/services/sign-in/siwe.ts'
import { builder } from './builder.ts'
import { inputOf } from './inputs.ts'
import { CreatedApiKey } from './keys.ts'
import { objectOf } from './objects.ts'
import { fieldOf } from './operation-fields.ts'

const SignInChallenge = objectOf('SignInChallenge', SignInMessageSchema, {
  description: 'A message (EIP-4361) to sign until `expiresAt`, in Unix milliseconds.',
})

const BrowserSession = objectOf('BrowserSession', SessionOwnerSchema, {
  description: 'Who is signed in with this browser.',
  ids: ['user'],
})

const SignedMessage = inputOf('SignedMessage', signInForSellerKey.input)

builder.queryFields((t) => ({
  signInChallenge: t.field({ type: SignInChallenge, ...fieldOf(readChallenge) }),
  session: t.field({ type: BrowserSession, ...fieldOf(readSession) }),
}))

builder.mutationFields((t) => ({
  signInForSellerKey: t.field({
    type: CreatedApiKey,
    ...fieldOf(signInForSellerKey, { groups: { input: SignedMessage } }),
  }),
  signInForBuyerKey: t.field({
    type: CreatedApiKey,
    ...fieldOf(signInForBuyerKey, { groups: { input: SignedMessage } }),
  }),
}))
