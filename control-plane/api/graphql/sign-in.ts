import { EmailSchema } from '#control-plane/services/sign-in/emails.ts'
import { PasskeySchema, readWaysIn, WaysInSchema } from '#control-plane/services/sign-in/passkeys.ts'
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
  description: 'The user who is signed in with this browser.',
  ids: ['user'],
})

const Passkey = objectOf('Passkey', PasskeySchema, { description: 'A passkey that signs the user in.' })

const Email = objectOf('Email', EmailSchema, { description: 'A verified e-mail address that signs the user in.' })

const WaysIn = objectOf('WaysIn', WaysInSchema, {
  description: 'The ways into the account that is signed in.',
  types: { passkeys: Passkey, emails: Email },
})

const SignedMessage = inputOf('SignedMessage', signInForSellerKey.input)

builder.queryFields((t) => ({
  signInChallenge: t.field({ type: SignInChallenge, ...fieldOf(readChallenge) }),
  waysIn: t.field({ type: WaysIn, ...fieldOf(readWaysIn) }),
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
