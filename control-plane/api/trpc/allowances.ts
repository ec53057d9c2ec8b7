import { listOwing } from '#control-plane/services/allowances/operator-allowances.ts'
import { closeAllowance, openAllowance, readAllowance } from '#control-plane/services/allowances/own-allowance.ts'
import { signAllowance } from '#control-plane/services/allowances/sign-allowance.ts'
import { mutationOf, queryOf, router } from './procedure.ts'

/** Accounts that pay from their wallets, and for operators the accounts that owe. */
export const allowance = router({
  read: queryOf(readAllowance),
  open: mutationOf(openAllowance),
  sign: mutationOf(signAllowance),
  close: mutationOf(closeAllowance),
  owing: queryOf(listOwing),
})
