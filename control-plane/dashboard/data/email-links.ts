import { useEffect } from 'react'
import { at } from './answer-of.ts'
import { call } from './client.ts'

/** A code that was cut when it was copied is refused in words, too. */
const CODE = /^#email=(.+)$/

/** A link that was sent by e-mail and not used yet. */
export type OpenEmailLink = { readonly code: string; readonly email: string; readonly isThisBrowser: boolean }

/** Sends a link to an address. `to` is the path of the page to go on to. */
export async function sendEmailLink(email: string, purpose: 'sign_in' | 'add', to?: string): Promise<void> {
  await call('POST', '/v1/auth/email-link', { email, purpose, ...(to === undefined ? {} : { to }) })
}

/** Reads a link without using it. */
export async function readEmailLink(code: string): Promise<OpenEmailLink> {
  const read = await call('POST', '/v1/auth/email-link/read', { code })
  const email = at(read, 'email')
  return { code, email: typeof email === 'string' ? email : '', isThisBrowser: at(read, 'is_this_browser') === true }
}

/** Takes the code of a link that is opened or pasted here out of the address, and hands it on. */
export function useEmailCode(onCode: (code: string) => void): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: The link is read once, when it is opened.
  useEffect(() => {
    const read = () => {
      const code = CODE.exec(location.hash)?.[1]
      if (code === undefined) return
      // The code works once, so it need not stay in the history.
      history.replaceState(history.state, '', location.pathname + location.search)
      onCode(code)
    }
    read()
    // A link that is pasted over this screen's own address loads nothing anew.
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
  }, [])
}
