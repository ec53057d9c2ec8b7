import {
  changeSavedView,
  createSavedView,
  listOwnSavedViews,
  removeSavedView,
} from '#control-plane/services/users/saved-views.ts'
import type { RestRow } from './route.ts'
import { restRow } from './route.ts'

/** Filters of lists that a signed-in user keeps under names. */
export const SAVED_VIEW_ROWS: readonly RestRow[] = [
  restRow({
    method: 'GET',
    path: '/v1/views',
    tag: 'Account',
    envelope: 'v1',
    operation: listOwnSavedViews,
  }),
  restRow({
    method: 'POST',
    path: '/v1/views',
    tag: 'Account',
    refusals: [409],
    status: 201,
    envelope: 'v1',
    operation: createSavedView,
  }),
  restRow({
    method: 'PATCH',
    path: '/v1/views/:view',
    tag: 'Account',
    refusals: [404, 409],
    envelope: 'v1',
    operation: changeSavedView,
  }),
  restRow({
    method: 'DELETE',
    path: '/v1/views/:view',
    tag: 'Account',
    refusals: [404],
    status: 204,
    envelope: 'v1',
    operation: removeSavedView,
  }),
]
