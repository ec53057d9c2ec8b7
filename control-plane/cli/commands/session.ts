import type { CommandRow, Option } from '#control-plane/cli/command.ts'

const SIDE: Option = {
  flags: '--side <side>',
  text: 'which kind of key',
  choices: ['buyer', 'seller', 'operator'],
  fallback: 'buyer',
}

/** Signing in and out, and completion for shells. */
export const SESSION_COMMANDS: readonly CommandRow[] = [
  {
    name: 'login',
    summary: 'Log in with a wallet, or save an existing key.',
    options: [
      SIDE,
      { flags: '--private-key-env <variable>', text: "environment variable with the wallet's private key" },
      { flags: '--private-key-from <file>', text: "file with the wallet's private key (mode 0600)" },
      { flags: '--key-env <variable>', text: 'environment variable with a key to save' },
      { flags: '--key-from <file>', text: 'file with a key to save (mode 0600)' },
      { flags: '--label <text>', text: 'name of the new key' },
    ],
    examples: ['login --url https://market.example --side seller --private-key-env WALLET_KEY'],
    load: async () => (await import('#control-plane/cli/actions/login.ts')).login,
  },
  {
    name: 'logout',
    summary: 'Remove the saved keys of a market.',
    load: async () => (await import('#control-plane/cli/actions/login.ts')).logout,
  },
  {
    name: 'whoami',
    summary: 'Show the market and the keys in use.',
    load: async () => (await import('#control-plane/cli/actions/login.ts')).whoami,
  },
  {
    name: 'completion',
    summary: 'Print a completion script for your shell.',
    arguments: [{ name: '<shell>', text: 'bash, zsh or fish' }],
    examples: ['completion bash'],
    load: async () => (await import('#control-plane/cli/actions/complete.ts')).printCompletion,
  },
]
