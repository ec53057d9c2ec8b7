import {
  acceptInvitation,
  createInvitation,
  declineInvitation,
  InvitationViewSchema,
  listOrganizationInvitations,
  listOwnInvitations,
  withdrawInvitation,
} from '#control-plane/services/organizations/invitations.ts'
import {
  listOrganizationMembers,
  MemberViewSchema,
  removeMember,
  updateMember,
} from '#control-plane/services/organizations/members.ts'
import {
  createOrganization,
  getOrganization,
  listOrganizations,
  OrganizationViewSchema,
  updateOrganization,
} from '#control-plane/services/organizations/organizations.ts'
import { builder } from './builder.ts'
import { objectOf } from './objects.ts'
import { fieldOf } from './operation-fields.ts'
import { LIST_COST } from './page.ts'

const Organization = objectOf('Organization', OrganizationViewSchema, {
  description: 'An organisation with the role of the caller. Instants are Unix milliseconds.',
})

const Member = objectOf('Member', MemberViewSchema, { description: 'A member of an organisation.' })

const Invitation = objectOf('Invitation', InvitationViewSchema, {
  description: 'An open invitation, or an invitation that was just answered.',
  ids: ['organization'],
})

builder.queryFields((t) => ({
  organizations: t.field({
    type: [Organization],
    complexity: LIST_COST,
    ...fieldOf(listOrganizations, {}, ({ organizations }) => organizations),
  }),
  organization: t.field({ type: Organization, ...fieldOf(getOrganization, { ids: ['organization'] }) }),
  members: t.field({
    type: [Member],
    complexity: LIST_COST,
    ...fieldOf(listOrganizationMembers, { ids: ['organization'] }, ({ members }) => members),
  }),
  invitations: t.field({
    type: [Invitation],
    complexity: LIST_COST,
    ...fieldOf(listOrganizationInvitations, { ids: ['organization'] }, ({ invitations }) => invitations),
  }),
  ownInvitations: t.field({
    type: [Invitation],
    complexity: LIST_COST,
    ...fieldOf(listOwnInvitations, {}, ({ invitations }) => invitations),
  }),
}))

builder.mutationFields((t) => ({
  createOrganization: t.field({ type: Organization, ...fieldOf(createOrganization) }),
  updateOrganization: t.field({ type: Organization, ...fieldOf(updateOrganization, { ids: ['organization'] }) }),
  updateMember: t.field({ type: Member, ...fieldOf(updateMember, { ids: ['organization', 'member'] }) }),
  removeMember: t.field({ type: Member, ...fieldOf(removeMember, { ids: ['organization', 'member'] }) }),
  createInvitation: t.field({ type: Invitation, ...fieldOf(createInvitation, { ids: ['organization'] }) }),
  withdrawInvitation: t.field({
    type: Invitation,
    ...fieldOf(withdrawInvitation, { ids: ['organization', 'invitation'] }),
  }),
  acceptInvitation: t.field({ type: Invitation, ...fieldOf(acceptInvitation, { ids: ['invitation'] }) }),
  declineInvitation: t.field({ type: Invitation, ...fieldOf(declineInvitation, { ids: ['invitation'] }) }),
}))
