import { listPlaneSettings } from '#control-plane/services/controls/plane-settings.ts'
import { readOperatorFigures } from '#control-plane/services/market/operator-figures.ts'
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

/** Figures of the whole market for operators. */
export const figures = router({
  read: queryOf(readOperatorFigures),
})

/** The settings that the planes run with. */
export const settings = router({
  list: queryOf(listPlaneSettings),
})
