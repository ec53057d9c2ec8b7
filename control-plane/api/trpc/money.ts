import { invoke } from '#control-plane/operation.ts'
import {
  adjustLedger,
  readTransaction,
  recordFiatDeposit,
  refundFiat,
  reverseTransaction,
} from '#control-plane/services/money/ledger-operations.ts'
import {
  clearHold,
  explainShortfall,
  readInvariants,
  readShortfall,
  runInvariantsNow,
} from '#control-plane/services/money/money-watch.ts'
import {
  discardPoisoned,
  listContradictions,
  listPoisoned,
  readPoisoned,
  resolveContradiction,
  retryPoisoned,
} from '#control-plane/services/money/usage-review.ts'
import { inputOf, procedure, router } from './procedure.ts'

/** Operators' operations on money: what goes in and out, what waits for a person, what the checker says. */

export const deposit = router({
  recordFiat: procedure
    .input(inputOf(recordFiatDeposit))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), recordFiatDeposit, input, ctx.options())),
})

export const refund = router({
  fiat: procedure
    .input(inputOf(refundFiat))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), refundFiat, input, ctx.options())),
})

export const ledger = router({
  adjust: procedure
    .input(inputOf(adjustLedger))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), adjustLedger, input, ctx.options())),
  reverse: procedure
    .input(inputOf(reverseTransaction))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), reverseTransaction, input, ctx.options())),
  read: procedure
    .input(inputOf(readTransaction))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), readTransaction, input, ctx.options())),
})

export const poison = router({
  list: procedure
    .input(inputOf(listPoisoned))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), listPoisoned, input ?? {}, ctx.options())),
  read: procedure
    .input(inputOf(readPoisoned))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), readPoisoned, input, ctx.options())),
  retry: procedure
    .input(inputOf(retryPoisoned))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), retryPoisoned, input, ctx.options())),
  discard: procedure
    .input(inputOf(discardPoisoned))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), discardPoisoned, input, ctx.options())),
})

export const conflict = router({
  list: procedure
    .input(inputOf(listContradictions))
    .query(async ({ ctx, input }) =>
      invoke(ctx.ctx, await ctx.actor(), listContradictions, input ?? {}, ctx.options()),
    ),
  resolve: procedure
    .input(inputOf(resolveContradiction))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), resolveContradiction, input, ctx.options())),
})

export const shortfall = router({
  read: procedure.query(async ({ ctx }) => invoke(ctx.ctx, await ctx.actor(), readShortfall, {}, ctx.options())),
  explain: procedure
    .input(inputOf(explainShortfall))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), explainShortfall, input, ctx.options())),
})

export const invariants = router({
  read: procedure.query(async ({ ctx }) => invoke(ctx.ctx, await ctx.actor(), readInvariants, {}, ctx.options())),
  run: procedure.mutation(async ({ ctx }) => invoke(ctx.ctx, await ctx.actor(), runInvariantsNow, {}, ctx.options())),
})

export const payoutHold = router({
  clear: procedure
    .input(inputOf(clearHold))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), clearHold, input, ctx.options())),
})
