import type { Mutant } from './mutant.ts'
import { mutant, tests } from './mutant.ts'

const TEST = tests('services/saved-views')
const ROWS = 'control-plane/db/saved-views.ts'
const QUERY = 'control-plane/services/users/view-query.ts#readViewQuery'

/** Mistakes by which people would read or change views of others, or store more than filters. */
export const SAVED_VIEW_MUTANTS: readonly Mutant[] = [
  mutant('views-of-others-are-listed', TEST, `${ROWS}#listSavedViews`, {
    "    .where('user_id', '=', user)\n": "    .where('user_id', 'is not', null)\n",
  }),
  mutant('a-view-holds-any-parameter', TEST, QUERY, { '!FILTERS[screen].includes(name)': "name === ''" }),
  mutant('views-have-no-limit', TEST, 'control-plane/services/users/saved-views.ts#createSavedView', {
    'held.length === MAX_VIEWS': 'held.length > MAX_VIEWS',
  }),
  mutant('a-rename-takes-a-name-in-use', TEST, 'control-plane/services/users/saved-views.ts#changeSavedView', {
    '      requireFreeName(others, after)\n': '',
  }),
]
