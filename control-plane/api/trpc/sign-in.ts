import {
  readChallenge,
  readSession,
  signInForBuyerKey,
  signInForSellerKey,
} from '#control-plane/services/sign-in/sign-in.ts'
import { mutationOf, queryOf, router } from './procedure.ts'
import { withKey } from './secrets.ts'

/** Signing in with a wallet. Sessions begin and end at the REST door, which alone handles cookies. */
export const signIn = router({
  challenge: queryOf(readChallenge),
  session: queryOf(readSession),
  forSellerKey: mutationOf(signInForSellerKey, withKey),
  forBuyerKey: mutationOf(signInForBuyerKey, withKey),
})
