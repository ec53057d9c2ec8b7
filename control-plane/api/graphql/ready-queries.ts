/** The first text of the page to try queries on. Its queries run as they are, with a key in the headers. */
export const READY_QUERIES = `# Queries of the market need no key. A buyer's or seller's key goes into the headers below:
#   { "authorization": "Bearer inf_…" }

query Markets {
  markets(first: 20) {
    edges { node { id name bestDiscountPct healthySellerCount best { inputPer1m outputPer1m } } }
    pageInfo { hasNextPage endCursor }
  }
}

query LastDay {
  marketSeries(groupBy: [model]) { bucket model trades volumeMicro ttftP50Ms ttftSamples uptimePct }
}

query Spending {
  me { creditBalanceUsdc heldUsdc }
  usageBuckets(interval: "day", filter: { period: "30d" }) { bucket requests buyerCostMicro listCostMicro }
}

query Selling {
  offers(first: 20) { edges { node { id model status healthy discount capDailyRemainingUsd } } }
  earnings(range: "30d") { totalEarnedUsdc daily { day earnedMicro } }
}

subscription Trades {
  tradeUpdates { model costMicro createdAt }
}
`
