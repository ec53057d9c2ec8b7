import {
  changeSavedView,
  createSavedView,
  listOwnSavedViews,
  removeSavedView,
} from '#control-plane/services/users/saved-views.ts'
import { mutationOf, queryOf, router } from './procedure.ts'

/** Filters of lists that a signed-in user keeps under names. */
export const savedView = router({
  create: mutationOf(createSavedView),
  list: queryOf(listOwnSavedViews),
  update: mutationOf(changeSavedView),
  remove: mutationOf(removeSavedView),
})
