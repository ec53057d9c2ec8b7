/** A signed body on its way to a buyer's server. */
export type WebhookMessage = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What became of it: the server's status, or why there was none, in words without addresses or content. */
export type WebhookAnswer =
  | { readonly kind: 'answered'; readonly status: number }
  | { readonly kind: 'unreachable'; readonly reason: string }

/** Sends once. Never throws; redirects are answers like any other. */
export type WebhookSender = (message: WebhookMessage) => Promise<WebhookAnswer>
