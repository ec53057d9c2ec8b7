import {
  changeSavedView,
  createSavedView,
  listOwnSavedViews,
  removeSavedView,
  SavedViewSchema,
  ViewScreenSchema,
} from '#control-plane/services/users/saved-views.ts'
import { builder } from './builder.ts'
import { objectOf } from './objects.ts'
import { fieldOf } from './operation-fields.ts'
import { LIST_COST } from './page.ts'

const Screen = builder.enumType('ViewScreen', { values: ViewScreenSchema.options })

const SavedView = objectOf('SavedView', SavedViewSchema, {
  description: 'Filters of a list on the page, kept under a name.',
  types: { screen: Screen },
})

builder.queryFields((t) => ({
  savedViews: t.field({
    type: [SavedView],
    complexity: LIST_COST,
    ...fieldOf(listOwnSavedViews, { types: { screen: Screen } }, ({ views }) => views),
  }),
}))

builder.mutationFields((t) => ({
  createSavedView: t.field({ type: SavedView, ...fieldOf(createSavedView, { types: { screen: Screen } }) }),
  updateSavedView: t.field({ type: SavedView, ...fieldOf(changeSavedView, { ids: ['view'] }) }),
  removeSavedView: t.field({ type: SavedView, ...fieldOf(removeSavedView, { ids: ['view'] }) }),
}))
