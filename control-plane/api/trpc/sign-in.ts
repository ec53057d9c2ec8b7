import { readWaysIn } from '#control-plane/services/sign-in/passkeys.ts'
import {
  readChallenge,
  readSession,
  signInForBuyerKey,
  signInForSellerKey,
} from '#control-plane/services/sign-in/sign-in.ts'
import { mutationOf, queryOf, router } from './procedure.ts'
import { withKey } from './secrets.ts'

/**
 * Signing in with a wallet, and the sign-in methods of an account. Sessions begin and end at the REST door, which alone
 * handles cookies.
 */
export const signIn = router({
  challenge: queryOf(readChallenge),
  session: queryOf(readSession),
  waysIn: queryOf(readWaysIn),
  forSellerKey: mutationOf(signInForSellerKey, withKey),
  forBuyerKey: mutationOf(signInForBuyerKey, withKey),
})
