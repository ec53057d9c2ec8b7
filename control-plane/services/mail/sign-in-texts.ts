import type { MailWords } from './mail-template.ts'

/** The address of the page that a link leads to, the market's host, and the life of the link. */
export type LinkFacts = { readonly url: string; readonly host: string; readonly minutes: number }

/** The mail with a link that signs in. */
export function signInWords({ url, host, minutes }: LinkFacts): MailWords {
  return {
    subject: `Sign in to ${host}`,
    lines: [`Use this link to sign in to ${host}. The link works once, for ${minutes} minutes.`],
    action: { label: 'Sign in', url },
    foot: [
      'You get this e-mail because someone typed your address on the sign-in page. If that was not you, ignore this e-mail.',
      'Do not forward this e-mail: the link opens your account.',
    ],
  }
}

/** The mail with a link that adds the address to an account. */
export function addAddressWords({ url, host, minutes }: LinkFacts): MailWords {
  return {
    subject: `Confirm your e-mail address for ${host}`,
    lines: [
      `Use this link to add this address to your account on ${host}. The link works once, for ${minutes} minutes, in a browser where you are signed in.`,
    ],
    action: { label: 'Confirm the address', url },
    foot: ['If you did not ask for this e-mail, ignore it. Nothing changes.'],
  }
}
