import { findSubjects } from '#control-plane/services/support/find-subject.ts'
import { readSupportAccount } from '#control-plane/services/support/read-account.ts'
import { readSupportCall } from '#control-plane/services/support/read-call.ts'
import { queryOf, router } from './procedure.ts'

/** Reads with which operators help a customer. */
export const support = router({
  find: queryOf(findSubjects),
  account: queryOf(readSupportAccount),
  request: queryOf(readSupportCall),
})
