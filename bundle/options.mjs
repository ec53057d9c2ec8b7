// @ts-check

/**
 * The options that make a single file of a program.
 * @satisfies {import('esbuild').BuildOptions}
 */
export const BUNDLE = {
  bundle: true,
  platform: /** @type {const} */ ('node'),
  format: /** @type {const} */ ('esm'),
  target: 'node20',
  outExtension: { '.js': '.mjs' },
  // Optional packages that nobody installs.
  external: ['pg-native'],
  // Bundled CommonJS packages ask for a `require` that an ES module lacks.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
}
