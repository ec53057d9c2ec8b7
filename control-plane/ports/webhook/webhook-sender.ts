/** A signed body for a buyer's server. */
export type WebhookMessage = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The result of a delivery: the server's status, or the reason for none, without addresses or content. */
export type WebhookAnswer =
  | { readonly kind: 'answered'; readonly status: number }
  | { readonly kind: 'unreachable'; readonly reason: string }

/** Sends once. Never throws. Redirects are not followed. */
export type WebhookSender = (message: WebhookMessage) => Promise<WebhookAnswer>
