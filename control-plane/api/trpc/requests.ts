import { invoke } from '#control-plane/operation.ts'
import { getRequest, listRequests } from '#control-plane/services/lookup.ts'
import { inputOf, procedure, router } from './procedure.ts'

/** What became of calls. */
export const request = router({
  get: procedure
    .input(inputOf(getRequest))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), getRequest, input, ctx.options())),
  list: procedure
    .input(inputOf(listRequests))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), listRequests, input ?? {}, ctx.options())),
})
