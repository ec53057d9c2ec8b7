import { Prose } from '#control-plane/dashboard/ui/prose.tsx'

const CHAPTERS = [
  {
    title: 'What we record about a call',
    lines: [
      'Time, model, provider, API key, tokens or media units, duration, outcome and cost.',
      'The record has no prompts and no answers.',
    ],
  },
  {
    title: 'Who sees your prompt',
    lines: [
      'The seller that serves your call and the seller’s provider receive your prompt. Their terms apply to your prompt.',
      'You choose which providers may serve you, on the Routing page or for each API key.',
    ],
  },
  {
    title: 'Your account',
    lines: [
      'We store how you sign in: a wallet address, the public key of a passkey, or an e-mail address. We send sign-in links and the alerts that you choose, nothing else.',
      'We store API keys as hashes, so no one can read them back. We encrypt the provider keys of sellers, and use them only to call the provider.',
    ],
  },
  {
    title: 'What others see',
    lines: [
      'The public feed shows the model, size and price of each call, never who made the call.',
      'Payments from a wallet are public on the blockchain.',
    ],
  },
  {
    title: 'This browser',
    lines: [
      'Two cookies are for sign-in: one keeps you signed in, one marks the browser that asked for a sign-in link. Scripts cannot read these two. Two more cookies keep your theme and your time zone.',
      'No trackers and no third parties. This page loads nothing from other hosts.',
    ],
  },
]

export function PrivacyPage() {
  return (
    <Prose
      title="Privacy"
      about="What we record, who sees your data, and what we do not keep."
      changed="28 November 2026"
      chapters={CHAPTERS}
    />
  )
}
