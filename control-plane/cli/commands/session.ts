import type { CommandRow, Option } from '#control-plane/cli/command.ts'

const SIDE: Option = {
  flags: '--side <side>',
  text: 'for which side',
  choices: ['buyer', 'seller', 'operator'],
  fallback: 'buyer',
}

/** Signing in and out, and completion for shells. */
export const SESSION_COMMANDS: readonly CommandRow[] = [
  {
    name: 'login',
    summary: 'Sign in with a wallet for a key, or keep a key, for the commands to come.',
    options: [
      SIDE,
      { flags: '--private-key-env <variable>', text: "the variable with the wallet's private key" },
      { flags: '--private-key-from <file>', text: "a file of mode 0600 with the wallet's private key" },
      { flags: '--key-env <variable>', text: 'the variable with a key to keep' },
      { flags: '--key-from <file>', text: 'a file of mode 0600 with a key to keep' },
      { flags: '--label <text>', text: 'a name for the new key' },
    ],
    examples: ['login --url https://market.example --side seller --private-key-env WALLET_KEY'],
    load: async () => (await import('#control-plane/cli/actions/login.ts')).login,
  },
  {
    name: 'logout',
    summary: 'Forget the keys that were kept for a market.',
    load: async () => (await import('#control-plane/cli/actions/login.ts')).logout,
  },
  {
    name: 'whoami',
    summary: 'Which market and which keys the next command would use.',
    load: async () => (await import('#control-plane/cli/actions/login.ts')).whoami,
  },
  {
    name: 'completion',
    summary: 'A script that completes commands and options in a shell.',
    arguments: [{ name: '<shell>', text: 'bash, zsh or fish' }],
    examples: ['completion bash'],
    load: async () => (await import('#control-plane/cli/actions/complete.ts')).printCompletion,
  },
]
