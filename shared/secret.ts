import { createHmac } from 'node:crypto'
import { inspect } from 'node:util'

const MASK = '[secret]'

/**
 * A text that cannot be printed. Its string, JSON and inspection forms are a fixed mask. Only {@link Secret.reveal}
 * gives the text, so every use can be found by that name.
 */
export class Secret {
  readonly #text: string
  constructor(text: string) {
    this.#text = text
  }
  reveal(): string {
    return this.#text
  }
  /** Makes another secret of this one. A secret of one purpose does not reveal that of another. */
  derive(purpose: string): Secret {
    return new Secret(createHmac('sha256', this.#text).update(purpose).digest('base64url'))
  }
  toString(): string {
    return MASK
  }
  toJSON(): string {
    return MASK
  }
  [inspect.custom](): string {
    return MASK
  }
}
