import type { Mutant } from './mutant.ts'
import { mutant, tests } from './mutant.ts'

const DEPLOYMENTS = 'shared/protocols/azure/deployments.ts'
const RESOURCE = 'shared/protocols/azure/index.ts'

const AZURE_TEST = tests('wires/azure')

/** Mistakes at a resource of Azure: whose deployment is called, and with which version and key. */
export const AZURE_MUTANTS: readonly Mutant[] = [
  mutant('a-path-leaves-its-deployment', AZURE_TEST, `${DEPLOYMENTS}#readDeployment`, {
    'encodeURIComponent(name)': 'name',
  }),
  mutant('a-version-holds-more-of-a-query', AZURE_TEST, DEPLOYMENTS, {
    '([\\w.-]{1,40})$/': '(.{1,40})$/',
  }),
  mutant('a-deployment-is-asked-under-one-version', AZURE_TEST, `${DEPLOYMENTS}#readDeployment`, {
    'const [, name = providerModel, version = USUAL_VERSION]':
      'const version = USUAL_VERSION\n  const [, name = providerModel]',
  }),
  mutant('a-deployment-is-asked-without-a-version', AZURE_TEST, `${DEPLOYMENTS}#readDeployment`, {
    '?api-version=${version}': '',
  }),
  mutant('a-version-is-part-of-the-name-that-is-sent', AZURE_TEST, `${DEPLOYMENTS}#placedPlan`, {
    'write({ ...plan, offer: { ...plan.offer, providerModel } })': 'write(providerModel === null ? plan : plan)',
  }),
  mutant('chats-at-a-deployment-leave-its-path', AZURE_TEST, `${DEPLOYMENTS}#atDeployments`, {
    '{ ...chat, encode: encoderOf(chat) }': 'chat',
  }),
  mutant('edits-of-pictures-leave-the-path-of-a-deployment', AZURE_TEST, `${DEPLOYMENTS}#placedImages`, {
    'placedPlan(plan, (named) => form(ask, named))': 'form(ask, plan)',
  }),
  mutant('a-probe-asks-the-resource-and-not-the-deployment', AZURE_TEST, `${DEPLOYMENTS}#atDeployments`, {
    'placed(model, (name) => probe.request(name))': 'probe.request(model)',
  }),
  mutant('a-key-of-azure-is-sent-as-a-token', AZURE_TEST, `${RESOURCE}#atAzure`, {
    "headers.push('api-key', key)": "headers.push('authorization', 'Bearer ' + key)",
  }),
]
