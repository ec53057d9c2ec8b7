import {
  BudgetsSchema,
  BudgetViewSchema,
  listOrganizationBudgets,
  setMemberBudget,
  setWorkspaceBudget,
} from '#control-plane/services/organizations/budgets.ts'
import { builder } from './builder.ts'
import { objectOf } from './objects.ts'
import { fieldOf } from './operation-fields.ts'
import { LIST_COST } from './page.ts'

const Budget = objectOf('Budget', BudgetViewSchema, {
  description:
    'A member or workspace with its monthly budget and the spend of this month, in micro-USD as plain digits.',
  ids: ['of'],
})

const Budgets = objectOf('Budgets', BudgetsSchema, {
  description: 'The budgets of an organisation in the present UTC month.',
  types: { members: Budget, workspaces: Budget },
})

builder.queryFields((t) => ({
  budgets: t.field({
    type: Budgets,
    complexity: LIST_COST,
    ...fieldOf(listOrganizationBudgets, { ids: ['organization'] }),
  }),
}))

builder.mutationFields((t) => ({
  setMemberBudget: t.field({ type: Budget, ...fieldOf(setMemberBudget, { ids: ['organization', 'member'] }) }),
  setWorkspaceBudget: t.field({
    type: Budget,
    ...fieldOf(setWorkspaceBudget, { ids: ['organization', 'workspace'] }),
  }),
}))
